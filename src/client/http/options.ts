/** What a client may be told, and what holds when it is not. */
import type { MillraceError } from '../../scheduler/core/index.ts';
import { type BackoffRange, type Clock, systemClock } from '../../kit/index.ts';
import type { ClientTls } from '../../edge/security/index.ts';

export interface ClientOptions {
  /** One address or several, separated by commas: `http://127.0.0.1:7070`. */
  readonly server: string;
  /** Without one a server of this machine is shown the token that it has left for its own user. */
  readonly token?: string;
  /** Whether the token may travel unencrypted to another machine. */
  readonly insecure?: boolean;
  readonly tls?: ClientTls;
  /** How long a call goes on trying once any server has answered. Longer than a leader's TTL, so
   * that a call outlives a fail-over. */
  readonly retryBudgetMs?: number;
  /** How long it tries while none has ever answered: a wrong address should not look like a slow one. */
  readonly firstContactMs?: number;
  /** A connection that says nothing for so long, while an answer is awaited, counts as lost. */
  readonly responseTimeoutMs?: number;
  /** The same for a stream of events, where the server gives a sign of life now and then. */
  readonly streamTimeoutMs?: number;
  /** Told when a call has to wait and goes on trying, and why: once for each reason of a call. */
  readonly onWait?: (why: MillraceError) => void;
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
