import type { Instant } from './ids.ts';
import type { SchedulerState } from './state.ts';

/** Figures for monitoring; one pass over the kinds of requirements. */
export interface SchedulerFigures {
  readonly liveJobs: number;
  readonly readyTasks: number;
  readonly runningTasks: number;
  /** Queries that are admitted, and that wait for admission. */
  readonly runningQueries: number;
  readonly waitingQueries: number;
  /** Ready tasks that no registered node could run. */
  readonly unfitTasks: number;
  /** How long the first of them has been ready; null if there is none. */
  readonly unfitMs: number | null;
}

export function figures(state: SchedulerState, now: Instant): SchedulerFigures {
  const { jobs, queue, leases, matching, tasks } = state;
  let unfitTasks = 0;
  let unfitMs: number | null = null;
  for (const { lanes } of matching.unmet()) {
    for (const { queue: waiting } of lanes) {
      const first = waiting.first();
      unfitTasks += waiting.taskCount;
      if (first === null) continue;
      unfitMs = Math.max(unfitMs ?? 0, now - tasks.queuedAt.get(first));
    }
  }
  return {
    liveJobs: jobs.size,
    readyTasks: queue.size,
    runningTasks: leases.size,
    runningQueries: state.admissions.running,
    waitingQueries: state.admissions.waiting,
    unfitTasks,
    unfitMs,
  };
}
