import {
  MillraceError,
  backfillTimes,
  backfilledJobId,
  encodeScheduleSpec,
  isMillraceError,
  isObject,
  parseJobDocument,
  parseScheduleSpec,
  readBackfill,
} from '../core/index.ts';
import type {
  Calendar,
  ChangeSchedule,
  DeclareSchedules,
  DeclaredSchedule,
  Instant,
  JobId,
  JsonObject,
  ReplyBody,
  ScheduleId,
} from '../core/index.ts';
import type { BackfilledJob, ScheduleReply, ScheduleService } from '../contract/index.ts';
import { checkNewScheduleId } from './checks.ts';
import { declaredId } from './known-flows.ts';
import type { ServiceOptions } from './service-options.ts';

/** Serves clients' calls about schedules on the leader. */
export class LeaderScheduleService implements ScheduleService {
  readonly #options: ServiceOptions;
  readonly #calendar: Calendar;
  #backfills: Promise<unknown> = Promise.resolve();

  constructor(options: ServiceOptions, calendar: Calendar) {
    this.#options = options;
    this.#calendar = calendar;
  }

  async put(scheduleId: ScheduleId, value: unknown): Promise<ScheduleReply> {
    checkNewScheduleId(scheduleId);
    return this.#put(scheduleId, this.#withDocument(byHand(value)), {});
  }

  /** Those that the current version of a flow declares, unchecked; answers why some are not there as they are declared. */
  async declare(
    flow: string,
    schedules: readonly JsonObject[],
    options: Pick<DeclareSchedules, 'paused' | 'forgets'> = {},
  ): Promise<ReadonlyMap<string, string>> {
    const { dispatcher } = this.#options;
    const notes = new Map<string, string>();
    const usable: DeclaredSchedule[] = [];
    for (const each of schedules) {
      const id = declaredId(flow, each) as ScheduleId;
      const { id: _, ...value } = each;
      try {
        checkNewScheduleId(id);
        usable.push({ id, ...this.#read(this.#withDocument({ ...value, flow, declared: true })) });
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        notes.set(id, error.message);
      }
    }
    const unusable = [...notes.keys()] as ScheduleId[];
    const reply = await dispatcher.ask((ask) => {
      return { type: 'declareSchedules', ask, flow, schedules: usable, unusable, ...options };
    });
    if (reply.type === 'declared')
      for (const { scheduleId, note } of reply.notes) notes.set(scheduleId, note);
    return notes;
  }

  #read(value: unknown): Pick<DeclaredSchedule, 'spec' | 'document'> {
    const { settings } = this.#options;
    const spec = parseScheduleSpec(value, settings, this.#calendar);
    return { spec, document: parseJobDocument(spec.document, settings) };
  }

  /** Other graphs of these flows are there now: from their next run on, schedules that name one run that. */
  async follow(flows: readonly string[]): Promise<void> {
    const specs = this.#options.dispatcher.peek(({ schedules }) =>
      [...schedules.values()].filter(
        ({ spec }) => spec.declared !== true && flows.includes(spec.flow ?? ''),
      ),
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
    const { dispatcher } = this.#options;
    const { spec, document } = this.#read(value);
    return asSchedule(
      await dispatcher.ask((ask) => {
        return { type: 'putSchedule', ask, scheduleId, spec, document, ...only };
      }),
    );
  }

  /** With the job document of the flow that it names, if it names one. */
  #withDocument(value: unknown): unknown {
    if (!isObject(value) || !('flow' in value) || 'document' in value) return value;
    const { flow, input = null } = value as { readonly flow: unknown; readonly input?: unknown };
    return { ...value, document: this.#options.flows.document({ flow, input }) };
  }

  async change(scheduleId: ScheduleId, change: ChangeSchedule['change']): Promise<ScheduleReply> {
    const { dispatcher } = this.#options;
    return asSchedule(
      await dispatcher.ask((ask) => ({ type: 'changeSchedule', ask, scheduleId, change })),
    );
  }

  /** One after the other: the store says which jobs there are already. */
  backfill(scheduleId: ScheduleId, range: unknown): Promise<readonly BackfilledJob[]> {
    const turn = this.#backfills.then(() => this.#backfill(scheduleId, range));
    this.#backfills = turn.catch(() => {});
    return turn;
  }

  async #backfill(scheduleId: ScheduleId, value: unknown): Promise<readonly BackfilledJob[]> {
    const times = this.#options.dispatcher.peek(({ schedules }, now) => {
      const range = readBackfill(value, now);
      const schedule = schedules.get(scheduleId);
      return schedule === undefined ? [] : backfillTimes(range, schedule, this.#calendar);
    });
    const jobs: BackfilledJob[] = [];
    // Without a time it is asked for all the same: whether there is such a schedule.
    for (let from = 0; from === 0 || from < times.length; from += PORTION) {
      jobs.push(...(await this.#run(scheduleId, times.slice(from, from + PORTION))));
    }
    return jobs;
  }

  async #run(scheduleId: ScheduleId, times: readonly Instant[]): Promise<readonly BackfilledJob[]> {
    const { dispatcher, store, shard } = this.#options;
    const idAt = (at: Instant): JobId => backfilledJobId(scheduleId, at);
    const taken = await store.takenIds(shard, times.map(idAt));
    const fresh = times.filter((at) => !taken.has(idAt(at)));
    const reply = await dispatcher.ask((ask) => {
      return { type: 'backfillSchedule', ask, scheduleId, times: fresh };
    });
    const made = new Map(
      (reply.type === 'backfilled' ? reply.jobs : []).map((job) => [job.at, job]),
    );
    return times.map((at) => made.get(at) ?? { at, jobId: idAt(at), isNew: false });
  }
}

/** Jobs of a backfill that are made in one transaction. */
const PORTION = 100;

/** Somebody may send back what the leader shows of a declared one: from then on it is theirs. */
function byHand(value: unknown): unknown {
  if (!isObject(value) || !('declared' in value)) return value;
  const { declared: _, ...rest } = value;
  return rest;
}

function asSchedule(reply: ReplyBody): ScheduleReply {
  if (reply.type === 'schedule') return reply;
  throw new MillraceError({
    code: 'invariant',
    what: `a schedule was asked, ${reply.type} answered`,
  });
}
