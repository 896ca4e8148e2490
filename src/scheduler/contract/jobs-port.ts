/** Changing jobs, as clients may ask it of the leader. Every call may be repeated without harm. */
import type { JobId, JobState, MillraceError } from '../core/index.ts';

export interface NewJob {
  /** Unchecked. */
  readonly document: unknown;
  /** Chosen by the caller, so that it can repeat the call. */
  readonly jobId: JobId;
  /** The caller may have sent it before. Servers look every id up and do not rely on it. */
  readonly isRepeated: boolean;
}

export interface JobAnswer {
  readonly id: JobId;
  readonly state: JobState;
  readonly run: number;
  /** False when the call changed nothing: it was there already, or it was over. */
  readonly changed: boolean;
}

export interface LeaderForClients {
  /** One answer for each job, in order: one that is refused does not sink the others. */
  submit(jobs: readonly NewJob[]): Promise<readonly (JobAnswer | MillraceError)[]>;
  cancel(id: JobId, reason: string): Promise<JobAnswer>;
  rerun(id: JobId, expectedRun?: number): Promise<JobAnswer>;
  /** `signalId` makes a repeated call harmless; `body` is JSON text. */
  signal(id: JobId, name: string, body: string, signalId: string): Promise<JobAnswer>;
}
