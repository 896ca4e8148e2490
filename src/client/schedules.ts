/** Schedules: jobs that are submitted automatically. */
import { defined } from '../kit/index.ts';
import type { ScheduleId, ScheduleSpec } from '../scheduler/core/index.ts';
import type { Callable } from '../tasks/executors/index.ts';
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
  /** Starts its job now; `lastJob` names it. */
  trigger(id: string, options?: CallOptions): Promise<ScheduleInfo>;
  /** Jobs that it has started are not affected. */
  delete(id: string, options?: CallOptions): Promise<void>;
}

export interface ScheduleInfo extends ScheduleShape {
  /** Ended: there is no further occurrence. */
  readonly state: 'active' | 'paused' | 'ended';
  /** The next times, as ISO 8601 text; none while it is paused. */
  readonly upcoming: readonly string[];
}

/** When it runs, what it runs, and how it handles missed and overlapping occurrences. */
export type Schedule<I> = ScheduleTiming &
  ScheduledWork<I> & {
    /** Occurrences that were missed: drop them, run once for all of them (the default), run each. */
    readonly misfire?: ScheduleSpec['misfire'];
    /** The last job still runs: leave this time out (the default), start after it, or cancel it. */
    readonly overlap?: ScheduleSpec['overlap'];
    /** No occurrence after this time is started; without it there is no such time. */
    readonly endAt?: Date | string;
    /** So many occurrences are started, not counting those by hand; without it there is no such limit. */
    readonly maxRuns?: number;
  };

export type ScheduleTiming =
  | {
      /** Five fields, or six with seconds first. */
      readonly cron: string;
      /** An IANA name such as `Europe/Berlin`; UTC if not given. */
      readonly zone?: string;
    }
  | {
      readonly everyMs: number;
      /** Runs are whole intervals away from here; without it, from now. */
      readonly anchorAt?: Date | string;
    }
  | { readonly at: Date | string };

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
    (kind: 'pause' | 'resume' | 'trigger') =>
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
    trigger: change('trigger'),
    delete: (id, options) => http.deleteSchedule(id as ScheduleId, options),
  };
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
