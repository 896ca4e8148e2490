/** Options of a client and its calls. There is one set of these types, for programs and for the command line. */
import type { JobState, Labels, MillraceError, Priority } from '../scheduler/core/index.ts';
import type { NodeFilter } from '../scheduler/contract/index.ts';
import type { KeyOptions, NewJobOptions } from '../tasks/executors/index.ts';
import type { ClientTls } from '../edge/security/index.ts';
import { type BackoffRange, type Clock, systemClock } from '../kit/index.ts';

export interface ConnectOptions {
  /** What the server's token file lists; not needed for a server of the same user on this machine. */
  readonly token?: string;
  /** Allows sending the token unencrypted to another machine, for trusted networks. */
  readonly insecure?: boolean;
  readonly tls?: TlsFileNames;
  /** How long a call goes on trying once the cluster has answered: longer than a fail-over takes. */
  readonly retryBudgetMs?: number;
  /** Called when a call has to wait, and for what: an outage of the cluster or of its database. */
  readonly onWait?: (why: MillraceError) => void;
}

/** Names of PEM files. */
export interface TlsFileNames {
  /** The authority that signs the servers' certificates; by default those that Node.js trusts. */
  readonly ca?: string;
  /** The certificate and the key that this side presents. */
  readonly cert?: string;
  readonly key?: string;
}

/** Every option; `connect` sets those that its callers do not have. */
export interface ClientOptions extends Omit<ConnectOptions, 'tls'> {
  /** One address or several, separated by commas: `http://127.0.0.1:7070`. */
  readonly server: string;
  readonly tls?: ClientTls;
  /** How long a call tries while no server has ever answered: a wrong address should not look like a slow one. */
  readonly firstContactMs?: number;
  /** A connection without a byte for this long, while an answer is awaited, counts as lost. */
  readonly responseTimeoutMs?: number;
  /** The same for a stream of events, on which the server sends keep-alives. */
  readonly streamTimeoutMs?: number;
  readonly clock?: Clock;
  /** For jitter: a number in [0, 1). */
  readonly random?: () => number;
}

/** Between two rounds of calls that failed. */
export const BACKOFF: BackoffRange = { firstMs: 100, maxMs: 2_000 };

export type Pace = Required<
  Pick<
    ClientOptions,
    | 'retryBudgetMs'
    | 'firstContactMs'
    | 'responseTimeoutMs'
    | 'streamTimeoutMs'
    | 'onWait'
    | 'clock'
    | 'random'
  >
>;

export function paceOf(options: ClientOptions): Pace {
  return {
    retryBudgetMs: options.retryBudgetMs ?? 30_000,
    firstContactMs: options.firstContactMs ?? 2_000,
    responseTimeoutMs: options.responseTimeoutMs ?? 10_000,
    streamTimeoutMs: options.streamTimeoutMs ?? 45_000,
    onWait: options.onWait ?? (() => {}),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
  };
}

/** The options of a call, with a signal that ends it with its client as well. */
export type Limit = <T extends CallOptions>(options?: T) => T & { readonly signal: AbortSignal };

/** A job by its handle or its id. */
export type JobRef = string | { readonly id: string };

export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. The request may take effect all the same. */
  readonly signal?: AbortSignal | undefined;
  /** Retries through any outage once a server has answered; only the signal ends the call. */
  readonly retriesForever?: boolean | undefined;
}

export interface SubmitOptions extends CallOptions, NewJobOptions, KeyOptions {
  /** Generated if not given. With it the whole call can be repeated later, by another process too: a job of
   * this id that is there already is answered as it is. */
  readonly jobId?: string;
}

/** When a job starts: at a time, `now`, or after a delay from now (milliseconds, or text such as `2h`). */
export type NewStart = Pick<NewJobOptions, 'runAt' | 'delay'>;

export interface RerunOptions extends CallOptions {
  /** Only if the job is still at this run; without it, at the run that it is found at now. */
  readonly expectedRun?: number;
}

export interface ForkOptions extends CallOptions {
  readonly jobId?: string;
  /** Replaces the input of the task from which the new job runs again. */
  readonly input?: unknown;
}

export interface SignalOptions extends CallOptions {
  /** Generated if not given. A second signal with the same id changes nothing, also from another process. */
  readonly signalId?: string;
}

export interface WatchOptions extends CallOptions {
  /** The last event that you have seen; without it, from the beginning of the job. */
  readonly after?: number;
}

export interface EventsOptions extends CallOptions {
  /** The last event that you have seen, 0 for all that are kept; without it, from now on. */
  readonly after?: number;
  readonly job?: JobRef;
  /** Ends once everything up to this event has been seen; without it, never. */
  readonly until?: number;
}

export interface LogsOptions extends CallOptions {
  /** Only lines of this task, or of one attempt. */
  readonly task?: string;
  readonly attempt?: number;
  /** The number of the last line that you have seen. */
  readonly after?: number;
  /** Goes on until the job has ended; otherwise it stops at the last line there is. */
  readonly follow?: boolean;
}

export interface NodesOptions extends CallOptions, NodeFilter {}

/** As text: `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`. */
type Starter =
  | string
  | { readonly event: string; readonly id?: string }
  | { readonly job: string; readonly task?: string };

/** Which jobs. */
export interface JobsMatch {
  readonly state?: JobState;
  readonly name?: string;
  /** Only jobs with all of these. */
  readonly labels?: Labels;
  /** Only jobs with a task that waits for a signal of this name, or for any: `*`. Their `waitsFor` says which. */
  readonly waitingFor?: string;
  /** Only jobs of this schedule. */
  readonly schedule?: string;
  /** Only jobs that this has started: an event, perhaps one of an id, or a job, perhaps one of its tasks. */
  readonly startedBy?: Starter;
  /** Only jobs that were created at this time or later: a Date, or text such as `2026-11-15T02:00:00Z`. */
  readonly since?: Date | string;
  /** Only jobs that were created before this time. */
  readonly until?: Date | string;
}

/** What is done to all jobs that fit, and what there is to say of it. */
export interface BulkOptions extends CallOptions {
  /** With `signal`: its name and its value. */
  readonly name?: string;
  readonly value?: unknown;
  /** With `priority`: 0 is urgent, 3 is low. */
  readonly priority?: Priority;
  /** With `reschedule`: a time, or `now`. */
  readonly runAt?: Date | string;
}

export interface JobsFilter extends JobsMatch, CallOptions {
  /** How many on a page. */
  readonly limit?: number;
  /** The cursor of an earlier page. */
  readonly cursor?: string;
}
