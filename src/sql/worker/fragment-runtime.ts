/** What runs the fragments of a worker: inputs, memory, engines and executors. */
import { statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { Pins } from '../catalog/index.ts';
import type { RowsRequest } from '../engine/index.ts';
import type { Executor } from '../../tasks/executors/index.ts';
import { PartitionReader } from '../shuffle/index.ts';
import type { OutputStore } from '../shuffle/index.ts';
import { EarlyInputs } from './early-inputs.ts';
import { fewOf, fragmentExecutor, threadsFor } from './fragment-executor.ts';
import type { FragmentNode } from './fragment-executor.ts';
import { LazyEnginePool } from './lazy-engine-pool.ts';
import { machineMemoryBytes } from './machine-memory.ts';
import { MemoryBudget } from './memory-budget.ts';
import type { QueryNodeOptions } from './query-node.ts';
import { SharedInputs } from './shared-inputs.ts';
import { WorkerCode } from './worker-code.ts';
import { sqlExecutor } from './sql-executor.ts';

export interface FragmentRuntimeOptions extends Omit<QueryNodeOptions, 'onPressure'> {
  /** A fragment failed on a full disk. */
  readonly onDiskFull: () => void;
  /** Whether the disk has room for what is not needed yet. */
  readonly hasRoom: () => boolean;
}

export interface FragmentRuntime {
  readonly executors: Readonly<Record<'sql' | 'sql.fragment', Executor>>;
  readonly shared: SharedInputs;
  readonly early: EarlyInputs;
  readonly fetches: PartitionReader['fetches'];
  close(): Promise<void>;
}

export interface Stores {
  readonly store: OutputStore;
  /** Where engines spill; the same one, unless a folder was chosen for it. */
  readonly spills: OutputStore;
}

/** The rest is for other tasks. */
const MEMORY_PART = 0.6;
const SPILL_PART = 0.5;

export function startFragmentRuntime(
  options: FragmentRuntimeOptions,
  { store, spills }: Stores,
): FragmentRuntime {
  const { nodeId, address, slots, spillBytesMax, resultBytesMax, shuffleInPlace } = options;
  const channel = options.remoteShuffle();
  const reader = new PartitionReader({ own: store, mayReadInPlace: shuffleInPlace, channel });
  const shared = new SharedInputs(store, reader);
  const early = new EarlyInputs({ store, reader, hasRoom: options.hasRoom });
  const totalBytes = options.memoryBytes ?? Math.floor(machineMemoryBytes() * MEMORY_PART);
  const budget = new MemoryBudget(totalBytes);
  const shareBytes = Math.floor(totalBytes / slots);
  const roots = options.roots.length === 0 ? null : options.roots;
  const code = new WorkerCode(options.operators);
  const engines = new LazyEnginePool(async () => {
    const spillFolder = await spills.place('spill');
    const bytes = spillBytesMax ?? (await freeBytes(spillFolder)) * SPILL_PART;
    return {
      slots: slots + fewOf(slots),
      spillFolder,
      spillBytesMax: Math.floor(bytes / slots),
      custom: code.engine(),
    };
  });
  const cores = options.threads ?? availableParallelism();
  const node: FragmentNode = {
    ...{ nodeId, address, store, reader, shared, early, pins: new Pins(), roots },
    ...{ budget, shareBytes, slots, cores, engines },
    operatorRowsMax: options.operatorRowsMax,
    ...{ operator: code.operator, onDiskFull: options.onDiskFull },
  };
  const sql = sqlExecutor({
    parts: reader,
    engine: { rows: (request, signal) => rowsOf(node, request, signal) },
    folder: () => store.scratch('sql-'),
    resultBytesMax,
  });
  return {
    executors: { sql, 'sql.fragment': fragmentExecutor(node) },
    shared,
    early,
    fetches: reader.fetches,
    close: async () => {
      await early.close();
      channel.close();
      await engines.close();
    },
  };
}

/** Holds an engine only while rows are read. */
async function* rowsOf(
  { engines, budget, shareBytes, cores, slots }: FragmentNode,
  request: RowsRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reserved = await budget.reserve(shareBytes, signal);
  try {
    const { engine, release } = await engines.acquire(
      { memoryBytes: shareBytes, threads: threadsFor(cores, slots, slots) },
      signal,
    );
    try {
      yield* engine.rows(request, signal);
    } finally {
      release();
    }
  } finally {
    reserved.release();
  }
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
