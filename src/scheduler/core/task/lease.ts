import type { Instant, JobId, JobNo, SessionId, TaskNo, TermId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { Place } from '../memory/linked-list.ts';
import type { Node } from '../node/node.ts';
import type { Slot } from './table.ts';

/** How a worker names a lease. A name that is not current is answered "lost". */
export interface LeaseName {
  readonly jobId: JobId;
  /** Finds the job faster than its id. After a rewind of the store it may be another job's. */
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly fence: number;
  readonly term: TermId;
}

/**
 * A session's right to run one attempt of one task. It exists exactly while the task is `running`,
 * from assignment to the accepted end, the loss of the session, or its return. Limits count
 * leases, so they hold for what may really be running. A task has one lease, which its row names; a straggler may
 * have a second one on another node, which is in memory only: see `steps/duplicates.ts`.
 */
export interface Lease {
  readonly slot: Slot;
  readonly job: Job;
  readonly taskNo: TaskNo;
  readonly fence: number;
  readonly term: TermId;
  readonly node: Node;
  readonly sessionId: SessionId;
  /** The task goes on after a suspension. */
  readonly resumed: boolean;
  /** When it was assigned. A new leader knows no more than when it was started or queued. */
  readonly since: Instant;
  startedAt: Instant | null;
  /** Being taken back: the worker is asked to abort with every answer until it says it has. */
  stopping: 'cancel' | 'timeout' | null;
  /** It is stopped with `cancel` only to begin again, because its inputs are recomputed. */
  beginsAgain: boolean;
  /** Whether a second attempt was started beside it, which is done once, however it goes. Of a lease that was
   * loaded nobody knows: so it is not done for those. */
  duplicate: 'none' | 'given' | 'unknown';
  /** The worker has said that it received the assignment, in the poll of this number. */
  ackedByPoll: number | null;
  /** The last list of what a worker holds that has named it: see `heldLeases`. */
  namedIn: number;
  /** Among those of its node. */
  readonly place: Place<Lease>;
}

export function leaseName({ job, taskNo, fence, term }: Lease): LeaseName {
  return { jobId: job.id, jobNo: job.no, taskNo, fence, term };
}
