import type { Instant, JobId, JobState, TaskError } from '../../../scheduler/core/index.ts';
import type { QueryPlan } from './plan.ts';
import type { FragmentResult } from './task.ts';

/** What is needed to read the rows of a query. */
export interface QueryRecord {
  readonly id: JobId;
  readonly state: JobState;
  readonly error: TaskError | null;
  readonly plan: QueryPlan;
  /** Null for ever, or until it has succeeded. */
  readonly expiresAt: Instant | null;
  /** The database's time of this answer. */
  readonly now: Instant;
  /** What the tasks of the last stage have answered; empty until it has succeeded. */
  readonly parts: readonly FragmentResult[];
}
