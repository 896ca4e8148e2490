import type { Instant, JobId, NodeId, TaskId } from './ids.ts';
import type { SchedulerState } from './state.ts';

/** A task that is assigned to a node now. */
export interface HeldTask {
  readonly nodeId: NodeId;
  readonly jobId: JobId;
  readonly jobName: string;
  readonly taskId: TaskId;
  readonly executor: string;
  /** When it was assigned. */
  readonly since: Instant;
  /** False while it waits on the node for a free slot. */
  readonly isStarted: boolean;
}

/** What each node holds, the longest first, at most `perNode` of each. */
export function heldTasks({ nodes, tasks }: SchedulerState, perNode: number): readonly HeldTask[] {
  const held: HeldTask[] = [];
  for (const node of nodes.values()) {
    let left = perNode;
    for (const { slot, job, since, startedAt } of node.leases.all()) {
      if (left === 0) break;
      left -= 1;
      held.push({
        nodeId: node.id,
        jobId: job.id,
        jobName: job.name,
        taskId: tasks.id(slot),
        executor: tasks.requirement(slot).executor,
        since,
        isStarted: startedAt !== null,
      });
    }
  }
  return held;
}
