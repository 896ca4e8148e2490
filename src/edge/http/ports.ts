/** What the API needs from its node, besides the ports in `scheduler/contract`. */
import type { JobState, TaskState } from '../../scheduler/core/index.ts';
import type { Histogram } from '../../kit/index.ts';

/** The current state of this node; asked often, so it must be cheap. */
export interface Standing {
  readonly nodeId: string;
  readonly leads: boolean;
  /** Of the leader that this node knows, itself or another. */
  readonly epoch: number | null;
  /** It accepts work, or knows the leader. */
  readonly isReady: boolean;
  /** False while the database cannot be reached, where the node depends on it. */
  readonly storeAnswers?: boolean;
  /** Only the leader has them. */
  readonly figures: LeaderFigures | null;
  /** What this process has measured as a leader; null if it never leads. */
  readonly measures?: LeaderDurations | null;
}

export interface LeaderDurations {
  readonly queueAge: Histogram;
  readonly run: Histogram;
  readonly commit: Histogram;
  readonly poll: Histogram;
  readonly stage: Histogram;
  /** By state. */
  readonly jobsEnded: ReadonlyMap<string, number>;
  /** By outcome. */
  readonly attempts: ReadonlyMap<string, number>;
}

export interface LeaderFigures {
  /** Events waiting to be committed. */
  readonly backlog: number;
  /** How often it has dropped its memory in this term because of a fault of its own. */
  readonly reloads?: number;
  readonly jobs?: Readonly<Partial<Record<JobState, number>>>;
  readonly tasks?: Readonly<Partial<Record<TaskState, number>>>;
  /** How long the oldest ready task has been waiting; null if none is ready. */
  readonly oldestReadyMs?: number | null;
  /** How long the task has been ready that waits longest for a node that could run it. */
  readonly unfitMs?: number | null;
  /** Queries that are admitted, and those that wait for admission. */
  readonly queries?: { readonly running: number; readonly waiting: number };
}
