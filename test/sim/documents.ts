/** Random job documents: graphs, limits, keys, placement, timeouts; small enough to end. */
import type { Capabilities, Need } from '../../src/scheduler/core/index.ts';
import type { Random } from './random.ts';

/** What the documents may ask of the cluster. */
export interface Vocabulary {
  readonly nodes: readonly string[];
  readonly tasksMax: number;
  readonly edgeRate: number;
  readonly optionRate: number;
  readonly keyRate: number;
  readonly timeoutRate: number;
  readonly waitRate: number;
  readonly whenRate: number;
  /** How many of the jobs are queries. */
  readonly queryRate: number;
  readonly debounceRate?: number;
  /** How many of the jobs are parts of batches. */
  readonly batchRate: number;
}

/** One limit a key for ever: which of two figures counts would depend on who came last. */
export const CONCURRENCY: Readonly<Record<string, number>> = { lake: 1, api: 2, disk: 3 };
/** The same with several at a task, and with periods. */
const LIMITS: readonly Limited[] = [
  { key: 'pool', max: 3 },
  { key: 'tenant', max: 2 },
  { key: 'calls', max: 4, perMs: 3_000 },
  { key: 'pool', max: 20, perMs: 20_000 },
];

export interface Limited {
  readonly key: string;
  readonly max: number;
  readonly perMs?: number;
}

export const EXECUTORS: readonly string[] = [
  'echo',
  'sum',
  'fan',
  'leaf',
  'gpu',
  'waiter',
  'part',
  'probe',
  'gather',
];
export const ALL_CAPABILITIES: Capabilities = { memory: 64, zones: ['a', 'b', 'c'] };

export interface DraftTask {
  readonly id: string;
  readonly dependsOn: readonly (string | { readonly id: string; readonly required: Need })[];
  readonly [field: string]: unknown;
}

export interface Draft {
  readonly tasks: readonly DraftTask[];
  readonly [field: string]: unknown;
}

export function draftJob(random: Random, words: Vocabulary): Draft {
  const count = random.chance(0.3) ? 1 : random.whole(2, words.tasksMax);
  const tasks: DraftTask[] = [];
  for (let no = 0; no < count; no += 1) tasks.push(draftTask(random, words, no));
  return {
    priority: random.whole(0, 3),
    ...(random.chance(words.optionRate) ? { maxParallel: random.whole(1, 3) } : {}),
    ...(random.chance(0.2) ? { onFailure: 'cancel' } : {}),
    ...(random.chance(words.debounceRate ?? 0.08) ? { debounce: debounceOf(random) } : {}),
    ...(random.chance(0.3) ? { fairnessKey: `tenant${random.whole(1, 2)}` } : {}),
    ...(random.chance(words.timeoutRate / 3)
      ? { timeouts: { totalMs: random.whole(5_000, 120_000) } }
      : {}),
    tasks,
  };
}

/** A job of a batch; its item is a number that no other one has. */
export function draftBatched(random: Random): Draft {
  const batch = {
    key: `batch${random.whole(1, 2)}`,
    max: random.whole(1, 5),
    ms: random.whole(500, 8_000),
  };
  const retry = {
    maxAttempts: random.whole(1, 4),
    backoffMs: random.whole(20, 500),
    maxBackoffMs: 3_000,
    maxLosses: 20,
  };
  const input = [random.whole(1, 1_000_000_000)];
  return {
    priority: random.whole(0, 3),
    batch,
    tasks: [{ id: 't0', executor: 'gather', dependsOn: [], input, retry }],
  };
}

/** Of dependencies that may end without success. */
const LENIENT: readonly Need[] = [false, 'unlessSkipped'];

function draftTask(random: Random, words: Vocabulary, no: number): DraftTask {
  const dependsOn: (string | { id: string; required: Need })[] = [];
  for (let on = 0; on < no; on += 1) {
    if (!random.chance(words.edgeRate / Math.sqrt(no))) continue;
    if (random.chance(0.25)) dependsOn.push({ id: `t${on}`, required: random.pick(LENIENT) });
    else dependsOn.push(`t${on}`);
  }
  const from = dependsOn.find((each) => typeof each === 'string');
  const executor = random.chance(words.waitRate)
    ? 'waiter'
    : random.pick(['echo', 'echo', 'sum', 'fan', 'gpu']);
  return {
    id: `t${no}`,
    executor,
    dependsOn,
    ...(random.chance(0.5) ? { input: inputOf(random, from) } : {}),
    ...(typeof from === 'string' && random.chance(words.whenRate)
      ? { when: whenOf(random, from) }
      : {}),
    ...(random.chance(words.optionRate) ? { priority: random.whole(0, 3) } : {}),
    ...(no > 0 && random.chance(0.1) ? { parent: `t${random.whole(0, no - 1)}` } : {}),
    ...(random.chance(words.optionRate) ? { concurrency: concurrencyOf(random) } : {}),
    ...(random.chance(words.optionRate) ? { limits: LIMITS.filter(() => random.chance(0.4)) } : {}),
    // A key's owner must not wait for children that wait for the key.
    ...(executor !== 'fan' && random.chance(words.keyRate)
      ? { idempotencyKey: `key${random.whole(1, 4)}` }
      : {}),
    ...(random.chance(words.timeoutRate) ? { timeouts: timeoutsOf(random) } : {}),
    ...(random.chance(words.optionRate) ? { placement: placementOf(random, words, executor) } : {}),
    retry: {
      maxAttempts: random.whole(1, 4),
      backoffMs: random.whole(20, 500),
      maxBackoffMs: 3_000,
      maxLosses: random.whole(2, 20),
    },
  };
}

function inputOf(random: Random, from: string | { id: string } | undefined): unknown {
  if (typeof from !== 'string' || random.chance(0.5)) return { n: random.whole(1, 9) };
  return { all: { $from: from } };
}

/** Results are null, or say under which fence they were made. */
function whenOf(random: Random, from: string): unknown {
  const path = '/fence';
  return { $from: from, path, ...(random.chance(0.5) ? { '<=': random.whole(1, 3) } : {}) };
}

function concurrencyOf(random: Random): { key: string; limit: number } {
  const key = random.pick(Object.keys(CONCURRENCY));
  return { key, limit: CONCURRENCY[key] as number };
}

function debounceOf(random: Random): Record<string, unknown> {
  const ms = random.whole(500, 8_000);
  const key = `quiet${random.whole(1, 3)}`;
  return { key, ms, ...(random.chance(0.5) ? { maxMs: ms + random.whole(0, 8_000) } : {}) };
}

function timeoutsOf(random: Random): Record<string, number> {
  return {
    ...(random.chance(0.4) ? { queueMs: random.whole(2_000, 60_000) } : {}),
    ...(random.chance(0.5) ? { runMs: random.whole(500, 20_000) } : {}),
    ...(random.chance(0.3) ? { totalMs: random.whole(5_000, 120_000) } : {}),
  };
}

function placementOf(random: Random, words: Vocabulary, executor: string): Record<string, unknown> {
  const kind = random.whole(0, 3);
  // Only the first node is sure to have everything.
  if (kind === 2 && executor === 'gpu') return { allowedNodes: [words.nodes[0]] };
  if (kind === 0) return { maxParallelPerNode: random.whole(1, 2) };
  if (kind === 1) return { capabilities: { memory: random.pick([8, 16, 64]) } };
  if (kind === 2) return { allowedNodes: [random.pick(words.nodes)], executors: ['echo'] };
  return { forbiddenNodes: [random.pick(words.nodes)], executorsAny: ['sum', 'leaf'] };
}

export function singletonOf(random: Random): Readonly<Record<string, string>> {
  return {
    key: `one${random.whole(1, 2)}`,
    whenBusy: random.chance(0.5) ? 'skip' : 'replace',
  };
}
