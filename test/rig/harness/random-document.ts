import { mix } from '../../../src/scheduler/core/index.ts';
import type { OwnOptions, RawTask } from './raw-tasks.ts';

/** The executors that random tasks ask for. */
export const KINDS: readonly string[] = ['echo', 'sql'];

function lenient(mayFail: boolean): false | 'unlessSkipped' {
  return mayFail ? false : 'unlessSkipped';
}

/** A small job with a bit of everything that a document may say. */
export function randomDocument(name: string, a: number, b: number): RawTask {
  const tasks = Array.from({ length: 1 + (a % 6) }, (_, no): RawTask => {
    /** One in `chances`, the same for the same numbers. */
    const roll = (chances: number, what: number): boolean => mix(a, b, no, what) % chances === 0;
    const one = (count: number, what: number): number => mix(a, b, no, what) % count;
    const dependsOn = Array.from({ length: no }, (_each, on) => on)
      .filter((on) => roll(4, 100 + on))
      .map((on) => ({ id: `t${on}`, required: roll(2, 200 + on) || lenient(roll(2, 300 + on)) }));
    const placement = {
      ...(roll(6, 1) ? { maxParallelPerNode: 1 } : {}),
      ...(roll(6, 2) ? { capabilities: { gpu: true } } : {}),
    };
    const backoffMs = roll(2, 16) ? 100 : 20_000;
    return {
      id: `t${no}`,
      executor: KINDS[one(2, 3)],
      dependsOn,
      placement,
      ...(roll(3, 4) ? { retry: { maxAttempts: 1 + one(3, 5), backoffMs } } : {}),
      ...(roll(4, 6) ? { timeouts: timeouts(one(30, 7)) } : {}),
      ...(roll(3, 8) ? { concurrency: { key: `c${one(2, 9)}`, limit: 1 + (b % 2) } } : {}),
      ...(roll(3, 18) ? { limits: limits(one(8, 19)) } : {}),
      ...(roll(4, 10) ? { idempotencyKey: `k${one(3, 11)}` } : {}),
      ...(roll(4, 12) ? { priority: one(4, 13) } : {}),
      ...(roll(6, 14) && no > 0 ? { parent: 't0' } : {}),
    };
  });
  if (isBatched(b)) return batched(name, a, b, tasks[0] ?? {});
  return {
    name,
    tasks,
    ...(b % 2 === 0 ? { maxParallel: 1 + (a % 3) } : {}),
    ...(b % 13 === 0 ? { debounce: { key: `d${a % 2}`, ms: 500 + a * 10 } } : {}),
    ...(b % 13 === 5
      ? { singleton: { key: `s${a % 2}`, whenBusy: a % 3 === 0 ? 'replace' : 'skip' } }
      : {}),
    ...(b % 11 === 0 ? { fairnessKey: `f${a % 2}` } : {}),
    ...(b % 5 === 0 ? { onFailure: 'cancel' } : {}),
    ...(b % 7 === 0 ? { timeouts: { totalMs: 60_000 } } : {}),
    ...(b % 9 === 0 ? { idempotencyKey: `job-key-${a % 3}` } : {}),
  };
}

/** Not those that get a time of their own, or options beyond a user's document. */
function isBatched(b: number): boolean {
  return b % 5 === 2 && b % 3 !== 1 && b % 4 !== 1 && b % 6 !== 0;
}

function batched(name: string, a: number, b: number, task: RawTask): RawTask {
  const tasks = [{ ...task, idempotencyKey: undefined, input: [a] }];
  const batch = { key: `b${a % 2}`, max: 2 + (a % 3), ms: 500 + a * 10 };
  return { name, batch, tasks, ...(b % 7 === 0 ? { timeouts: { totalMs: 60_000 } } : {}) };
}

/** What some of these jobs have beyond a user's document: outputs on nodes, and a first task that waits until
 * the job is admitted. */
export function randomOwnOptions(a: number, b: number): OwnOptions {
  const own: Record<string, OwnOptions[string]> = {};
  const count = b % 3 === 1 ? 1 + (a % 6) : 0;
  for (let no = 0; no < count; no += 1) {
    const dice = mix(a, b, no, 300) % 5;
    if (dice > 1) own[`t${no}`] = { output: dice === 2 ? 'non-deterministic' : 'deterministic' };
  }
  if (b % 4 === 1) own['t0'] = { admission: { memoryBytes: (a % 5) * 30 } };
  return own;
}

/** One figure a key: which of two counts would depend on who came last. */
function limits(dice: number): readonly object[] {
  const all = [
    { key: 'pool', max: 2 },
    { key: 'lock', max: 1 },
    { key: 'pool', max: 3, perMs: 2_000 },
  ];
  return all.filter((_, at) => (dice & (1 << at)) !== 0);
}

function timeouts(dice: number): object {
  const which = ['queueMs', 'runMs', 'totalMs'][dice % 3] as string;
  return { [which]: 500 + dice * 1_000 };
}
