import { MillraceError, parseJobDocument, parseScheduleSpec } from '../core/index.ts';
import type { Calendar, ChangeSchedule, ReplyBody, ScheduleId } from '../core/index.ts';
import type { ScheduleReply, ScheduleService } from '../contract/index.ts';
import { checkNewScheduleId } from './checks.ts';
import type { ServiceOptions } from './job-service.ts';

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
    const { settings, dispatcher } = this.#options;
    const spec = parseScheduleSpec(value, settings, this.#calendar);
    const document = parseJobDocument(spec.document, settings);
    return asSchedule(
      await dispatcher.ask((ask) => ({ type: 'putSchedule', ask, scheduleId, spec, document })),
    );
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
