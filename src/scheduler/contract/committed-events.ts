import type { EventView, Instant, TermId } from '../core/index.ts';

/** What a leader has just added to the log, for readers in its process. */
export interface CommittedEvents {
  readonly term: TermId;
  /** In order and without gaps; each batch begins where the one before it ended. */
  readonly events: readonly EventView[];
  /** The database's time of the commit. */
  readonly at: Instant;
}
