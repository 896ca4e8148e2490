/** Schedules: jobs that are submitted automatically. */
import { defined } from '../kit/index.ts';
import type { ScheduleId } from '../scheduler/core/index.ts';
import type { Callable } from '../tasks/executors/index.ts';
import type { SchedulePolicies, ScheduleTiming } from '../tasks/flow/index.ts';
import type { ScheduleShape } from '../scheduler/contract/index.ts';
import type { Document } from './client.ts';
import type { HttpClient } from './http-client.ts';
import type { CallOptions } from './options.ts';

export interface Schedules {
  /** Creates the schedule, or gives the one by that id a new timing and job. */
  put<I>(id: string, schedule: Schedule<I>, options?: CallOptions): Promise<ScheduleInfo>;
  /** With their next runs. */
  list(options?: CallOptions): Promise<readonly ScheduleInfo[]>;
  pause(id: string, options?: CallOptions): Promise<ScheduleInfo>;
  /** Occurrences that passed meanwhile are left out. */
  resume(id: string, options?: CallOptions): Promise<ScheduleInfo>;
  /** Starts its job now; `lastJob` names it. With `at` it is run for that time, which has passed, once. */
  trigger(
    id: string,
    options?: CallOptions & { readonly at?: Date | string },
  ): Promise<ScheduleInfo>;
  /**
   * Starts one job for each of its times from `from` to `to` (now, if not given), both included, at most 1,000. A time
   * that was backfilled before starts nothing new.
   */
  backfill(id: string, range: BackfillRange, options?: CallOptions): Promise<Backfill>;
  /** Jobs that it has started are not affected. */
  delete(id: string, options?: CallOptions): Promise<void>;
}

export interface BackfillRange {
  readonly from: Date | string;
  readonly to?: Date | string;
}

export interface Backfill {
  readonly id: string;
  /** New jobs. */
  readonly started: number;
  /** By time, oldest first; `isNew` is false for one that was there before. */
  readonly jobs: readonly { readonly at: string; readonly id: string; readonly isNew: boolean }[];
}

export interface ScheduleInfo extends ScheduleShape {
  /** Ended: there is no further occurrence. */
  readonly state: 'active' | 'paused' | 'ended';
  /** The next times, as ISO 8601 text; none while it is paused. */
  readonly upcoming: readonly string[];
}

/** When it runs, what it runs, and how it handles missed and overlapping occurrences. */
export type Schedule<I> = ScheduleTiming & ScheduledWork<I> & SchedulePolicies;

export type { ScheduleTiming };

export type ScheduledWork<I> =
  /** A flow that workers have published, by its name: each run has the graph of its newest version. */
  | { readonly flow: string; readonly input?: unknown }
  | ({ readonly flow: Callable<I, unknown> } & (undefined extends I
      ? { readonly input?: I }
      : { readonly input: I }))
  | { readonly document: Document };

/** What they are made of: an HTTP client has it. */
export interface ScheduleCalls extends Pick<
  HttpClient,
  'putSchedule' | 'changeSchedule' | 'deleteSchedule'
> {
  listSchedules(options?: CallOptions): Promise<{ readonly schedules: readonly ScheduleShape[] }>;
}

export function schedulesOver(
  http: ScheduleCalls,
  offer: (what: unknown) => Promise<void>,
): Schedules {
  const change =
    (kind: 'pause' | 'resume') =>
    async (id: string, options?: CallOptions): Promise<ScheduleInfo> =>
      asInfo(await http.changeSchedule(id as ScheduleId, kind, options));
  return {
    async put(id, schedule, options) {
      const { misfire, overlap, endAt, maxRuns } = schedule;
      const work = await workOf(schedule, offer);
      const spec = {
        timing: timingOf(schedule),
        ...defined({ misfire, overlap, maxRuns }),
        ...defined({ endAt: endAt instanceof Date ? endAt.toISOString() : endAt }),
        ...work,
      };
      return asInfo(await http.putSchedule(id as ScheduleId, spec, options));
    },
    async list(options) {
      return (await http.listSchedules(options)).schedules.map(asInfo);
    },
    pause: change('pause'),
    resume: change('resume'),
    async trigger(id, { at, ...options } = {}) {
      const body = at === undefined ? undefined : { at: momentOf(at) };
      return asInfo(await http.changeSchedule(id as ScheduleId, 'trigger', options, body));
    },
    backfill(id, { from, to }, options) {
      const body = { from: momentOf(from), ...(to === undefined ? {} : { to: momentOf(to) }) };
      return http.changeSchedule<Backfill>(id as ScheduleId, 'backfill', options, body);
    },
    delete: (id, options) => http.deleteSchedule(id as ScheduleId, options),
  };
}

/** An invalid date is left for the server to refuse. */
function momentOf(time: Date | string): string {
  if (typeof time === 'string') return time;
  return Number.isFinite(time.getTime()) ? time.toISOString() : String(time);
}

type GivenWork =
  | { readonly flow: Callable<never, unknown> | string; readonly input?: unknown }
  | { readonly document: Document };

/** The document, or the flow for the server to make it of. */
async function workOf(
  work: GivenWork,
  offer: (what: unknown) => Promise<void>,
): Promise<Readonly<Record<string, unknown>>> {
  if ('flow' in work && typeof work.flow === 'string') {
    const { flow, input } = work;
    return { flow, ...(input === undefined ? {} : { input }) };
  }
  const what = 'flow' in work ? work.flow : work.document;
  // Loaded when it is needed: the command line has no flows.
  const { submissionOf } = await import('../tasks/flow/index.ts');
  const { document } = await submissionOf(what, 'flow' in work ? work.input : undefined);
  await offer(what);
  return 'flow' in document ? document : { document };
}

/** Only what was given: the server refuses options that do not belong together, and says why. */
function timingOf(schedule: ScheduleTiming): Readonly<Record<string, unknown>> {
  const timing: Record<string, unknown> = {};
  for (const name of ['cron', 'zone', 'everyMs', 'anchorAt', 'at'] as const) {
    const value: unknown = name in schedule ? schedule[name as keyof typeof schedule] : undefined;
    if (value !== undefined) timing[name] = value instanceof Date ? value.toISOString() : value;
  }
  return timing;
}

/** A server of an earlier version does not say in which state it is. */
function asInfo(schedule: ScheduleShape & Partial<ScheduleInfo>): ScheduleInfo {
  const rest = schedule.paused ? 'paused' : 'active';
  const state = schedule.state ?? (schedule.nextAt === null ? 'ended' : rest);
  return { ...schedule, state, upcoming: schedule.upcoming ?? [] };
}
