/** The parts of a dispatcher, and its callbacks. */
import type {
  Effects,
  Instant,
  MillraceError,
  NamedBatch,
  SchedulerEvent,
  SchedulerState,
} from '../core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Store } from '../store/index.ts';
import type { LeaderTerm } from './leader-term.ts';

export interface DispatcherOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly leaderTerm: LeaderTerm;
  readonly memory: Memory;
  /** Loads what is needed to serve, to start over after a bad event. */
  readonly reload: () => Promise<Memory>;
  /** It serves again from a fresh memory, which still lacks the jobs that are not running. */
  readonly onReloaded: () => void;
  /** The store has refused a batch for its data, or the core has failed. Both are internal errors: what clients send
   * is checked before. */
  readonly onFault?: (fault: MillraceError) => void;
  /** The term has ended; called once. */
  readonly onEnd: (why: MillraceError) => void;
  /** Called for every committed batch, before its answers are sent. `tookMs` is how long the store took. */
  readonly onCommitted?: (rows: NamedBatch, at: Instant, tookMs: number) => void;
  /** Decides for undecided tasks, as far as all that they depend on is known. `batches` are not committed yet. */
  readonly decide?: (
    state: SchedulerState,
    batches: readonly Effects[],
  ) => readonly SchedulerEvent[];
  /** Events that may wait before callers are refused as overload. */
  readonly backlogMax?: number;
  /** A batch of so many bytes is written while others still are, if the store takes several. */
  readonly worthBytes?: number;
}

/** A state just loaded from the store, and what loading found to be done. */
export interface Memory {
  readonly state: SchedulerState;
  readonly effects: Effects;
}
