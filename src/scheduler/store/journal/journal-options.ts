import type { Clock } from '../../../kit/index.ts';
import type { ChunkForm } from '../event-chunk.ts';

export interface JournalOptions {
  readonly clock: Clock;
  /** How long a commit may wait before the tables follow. */
  readonly foldAfterMs: number;
  /** The same when no other commit has come after it. Default: no sooner. */
  readonly foldWhenQuietMs?: number;
  /** So many rows are folded without waiting for more. */
  readonly rowsWorth?: number;
  /** Rows that are kept for a while after they were folded: where a look at the tables is dear. None by default. */
  readonly readableRows?: number;
  /** How the events of a commit are written: see `ChunkForm`. */
  readonly chunkForm?: ChunkForm;
  /** While commits go on, folds leave out jobs that have just begun: see `Pending.next`. The tables have `storedJobs` then. */
  readonly defersJobs?: boolean;
}
