/** What operators of a random workload do with schedules and queues. */
import type { PauseTarget } from '../../../src/scheduler/core/index.ts';
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

export function resumeAll(world: Harness): void {
  for (const target of QUEUES) world.ask({ type: 'resumeQueue', target });
}
