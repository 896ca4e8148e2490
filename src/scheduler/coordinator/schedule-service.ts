import {
  MillraceError,
  encodeScheduleSpec,
  isMillraceError,
  parseJobDocument,
  parseScheduleSpec,
} from '../core/index.ts';
import type { Calendar, ChangeSchedule, ReplyBody, ScheduleId } from '../core/index.ts';
import type { ScheduleReply, ScheduleService } from '../contract/index.ts';
import { checkNewScheduleId } from './checks.ts';
import type { ServiceOptions } from './service-options.ts';

/** Serves clients' calls about schedules on the leader. */
export class LeaderScheduleService implements ScheduleService {
  readonly #options: ServiceOptions;
  readonly #calendar: Calendar;

  constructor(options: ServiceOptions, calendar: Calendar) {
    this.#options = options;
    this.#calendar = calendar;
  }

  async put(scheduleId: ScheduleId, value: unknown): Promise<ScheduleReply> {
    checkNewScheduleId(scheduleId);
    return this.#put(scheduleId, this.#withDocument(value), {});
  }

  /** Other graphs of these flows are there now: from their next run on, schedules that name one run that. */
  async follow(flows: readonly string[]): Promise<void> {
    const specs = this.#options.dispatcher.peek(({ schedules }) =>
      [...schedules.values()].filter(({ spec }) => flows.includes(spec.flow ?? '')),
    );
    for (const { id, spec } of specs) {
      const { document: _old, ...rest } = spec;
      try {
        const expected = encodeScheduleSpec(spec);
        await this.#put(id, this.#withDocument(rest), { expected });
      } catch (error) {
        // Its input does not fit the new flow, or it was changed meanwhile: it keeps the graph that it has.
        if (!isMillraceError(error)) throw error;
      }
    }
  }

  async #put(
    scheduleId: ScheduleId,
    value: unknown,
    only: { readonly expected?: string },
  ): Promise<ScheduleReply> {
    const { settings, dispatcher } = this.#options;
    const spec = parseScheduleSpec(value, settings, this.#calendar);
    const document = parseJobDocument(spec.document, settings);
    return asSchedule(
      await dispatcher.ask((ask) => {
        return { type: 'putSchedule', ask, scheduleId, spec, document, ...only };
      }),
    );
  }

  /** With the job document of the flow that it names, if it names one. */
  #withDocument(value: unknown): unknown {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || !('flow' in value) || 'document' in value) return value;
    const { flow, input = null } = value as { readonly flow: unknown; readonly input?: unknown };
    return { ...value, document: this.#options.flows.document({ flow, input }) };
  }

  async change(scheduleId: ScheduleId, change: ChangeSchedule['change']): Promise<ScheduleReply> {
    const { dispatcher } = this.#options;
    return asSchedule(
      await dispatcher.ask((ask) => ({ type: 'changeSchedule', ask, scheduleId, change })),
    );
  }
}

function asSchedule(reply: ReplyBody): ScheduleReply {
  if (reply.type === 'schedule') return reply;
  throw new MillraceError({
    code: 'invariant',
    what: `a schedule was asked, ${reply.type} answered`,
  });
}
