/** What operators of a random workload do with schedules and queues. */
import { PRIORITIES, instant } from '../../../src/scheduler/core/index.ts';
import type { JobId, PauseTarget } from '../../../src/scheduler/core/index.ts';
import type { Harness } from '../harness.ts';

const QUEUES: readonly PauseTarget[] = [
  { kind: 'executor', name: 'echo' },
  { kind: 'key', name: 'c0' },
  { kind: 'key', name: 'pool' },
];

export function changeSchedule(world: Harness, a: number, b: number): void {
  const change = (['trigger', 'pause', 'resume', 'delete'] as const)[b % 4] ?? 'trigger';
  world.changeSchedule(`s${a % 2}`, change);
}

export function operateQueue(world: Harness, a: number, b: number): void {
  const target = QUEUES[a % QUEUES.length] as PauseTarget;
  if (b % 2 === 0) world.ask({ type: 'pauseQueue', target, reason: null });
  else world.ask({ type: 'resumeQueue', target });
}

/** Its priority, or the time for which it waits. */
export function changeJob(world: Harness, job: string | null, b: number): void {
  if (job === null) return;
  const jobId = job as JobId;
  const priority = PRIORITIES[b % PRIORITIES.length] ?? 0;
  const runAt = b % 3 === 0 ? null : instant(world.now + (b % 20_000));
  if (b % 5 < 3) world.ask({ type: 'setPriority', jobId, priority });
  else world.ask({ type: 'reschedule', jobId, runAt });
}

export function resumeAll(world: Harness): void {
  for (const target of QUEUES) world.ask({ type: 'resumeQueue', target });
}
