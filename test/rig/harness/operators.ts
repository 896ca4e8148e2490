/** What operators of a random workload do with schedules and queues. */
import { PRIORITIES } from '../../../src/scheduler/core/index.ts';
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

export function setPriority(world: Harness, job: string | null, b: number): void {
  const priority = PRIORITIES[b % PRIORITIES.length] ?? 0;
  if (job !== null) world.ask({ type: 'setPriority', jobId: job as JobId, priority });
}

export function resumeAll(world: Harness): void {
  for (const target of QUEUES) world.ask({ type: 'resumeQueue', target });
}
