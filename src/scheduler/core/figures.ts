import type { Instant } from './ids.ts';
import type { SchedulerState } from './state.ts';
import { TASK_STATES } from './task/chart.ts';
import type { JobState, TaskState } from './task/chart.ts';

/** Figures for monitoring; one pass over the jobs and tasks that are not packed. */
export interface SchedulerFigures {
  /** Live jobs: those that have ended leave the memory. */
  readonly jobs: Readonly<Record<Extract<JobState, 'queued' | 'running'>, number>>;
  /** Tasks of live jobs. */
  readonly tasks: Readonly<Record<TaskState, number>>;
  /** How long the oldest ready task has been waiting; null if none is ready. */
  readonly oldestReadyMs: number | null;
  /** Queries that are admitted, and that wait for admission. */
  readonly runningQueries: number;
  readonly waitingQueries: number;
  /** Ready tasks that no registered node could run. */
  readonly unfitTasks: number;
  /** How long the first of them has been ready; null if there is none. */
  readonly unfitMs: number | null;
}

export function figures(state: SchedulerState, now: Instant): SchedulerFigures {
  const { jobs, matching, tasks } = state;
  const counts = new Map<TaskState, number>(TASK_STATES.map((each) => [each, 0]));
  let readySince = Infinity;
  tasks.each((slot) => {
    const each = tasks.state(slot);
    counts.set(each, (counts.get(each) ?? 0) + 1);
    if (each === 'ready') readySince = Math.min(readySince, tasks.queuedAt.get(slot));
  });
  const { packed } = jobs;
  counts.set('ready', (counts.get('ready') ?? 0) + packed.size);
  for (const { firstQueuedAt } of packed.lines)
    readySince = Math.min(readySince, firstQueuedAt ?? Infinity);
  let queued = packed.size;
  for (const job of jobs.values()) if (job.state === 'queued') queued += 1;
  let unfitTasks = 0;
  let unfitMs: number | null = null;
  for (const { lanes } of matching.unmet()) {
    for (const { queue: waiting } of lanes) {
      const queuedAt = waiting.firstQueuedAt(tasks);
      unfitTasks += waiting.taskCount;
      if (queuedAt === null) continue;
      unfitMs = Math.max(unfitMs ?? 0, now - queuedAt);
    }
  }
  return {
    jobs: { queued, running: jobs.size - queued },
    tasks: Object.fromEntries(counts) as Record<TaskState, number>,
    oldestReadyMs: readySince === Infinity ? null : Math.max(0, now - readySince),
    runningQueries: state.admissions.running,
    waitingQueries: state.admissions.waiting,
    unfitTasks,
    unfitMs,
  };
}
