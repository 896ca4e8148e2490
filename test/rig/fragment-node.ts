/** A node that runs fragments, with a server before its outputs. Gone with the test. */
import { Pins } from '../../src/sql/catalog/index.ts';
import type { Json, OperatorDeclaration } from '../../src/scheduler/core/index.ts';
import type { Executor, TaskContext } from '../../src/tasks/executors/index.ts';
import { fragmentExecutor } from '../../src/sql/worker/fragment-executor.ts';
import type { Engines } from '../../src/sql/worker/fragment-executor.ts';
import { EarlyInputs } from '../../src/sql/worker/early-inputs.ts';
import { MemoryBudget } from '../../src/sql/worker/memory-budget.ts';
import { SharedInputs } from '../../src/sql/worker/shared-inputs.ts';
import type { Fragment, FragmentResult, FragmentTask } from '../../src/sql/plan/index.ts';
import { PartitionReader } from '../../src/sql/shuffle/index.ts';
import type { OutputStore } from '../../src/sql/shuffle/index.ts';
import { channel, openStore, serveStore } from './shuffle-node.ts';

export interface FragmentNodeRig {
  readonly store: OutputStore;
  readonly shared: SharedInputs;
  readonly early: EarlyInputs;
  readonly budget: MemoryBudget;
  readonly executor: Executor;
  readonly address: string;
  readonly stop: () => Promise<void>;
  run(task: FragmentTask, context: TaskContext): Promise<FragmentResult>;
}

export interface FragmentNodeOptions {
  readonly engines: Engines;
  readonly nodeId?: string;
  readonly memoryBytes?: number;
  readonly shareBytes?: number;
  readonly cores?: number;
  readonly onDiskFull?: () => void;
}

/** Others reach its outputs over the network only. */
export async function fragmentNode(options: FragmentNodeOptions): Promise<FragmentNodeRig> {
  const { nodeId = 'w-1', memoryBytes = 1_000_000_000, cores = 2, engines } = options;
  const store = await openStore();
  const { address, stop } = await serveStore(store);
  const reader = new PartitionReader({ own: store, mayReadInPlace: false, channel: channel() });
  const shared = new SharedInputs(store, reader);
  const early = new EarlyInputs({ store, reader, hasRoom: () => true });
  const budget = new MemoryBudget(memoryBytes);
  const executor = fragmentExecutor({
    nodeId,
    address: () => Promise.resolve(address),
    store,
    reader,
    shared,
    early,
    pins: new Pins(),
    roots: null,
    budget,
    shareBytes: options.shareBytes ?? memoryBytes / 4,
    slots: 4,
    cores,
    engines,
    operatorRowsMax: 1_000,
    operator: (name) => (name === 'known' ? KNOWN : undefined),
    onDiskFull: options.onDiskFull ?? (() => {}),
  });
  const run = async (task: FragmentTask, context: TaskContext): Promise<FragmentResult> =>
    (await executor.run(task as unknown as Json, context)) as FragmentResult;
  return { store, shared, early, budget, executor, address, stop, run };
}

const KNOWN: OperatorDeclaration = {
  name: 'known',
  kind: 'operator',
  input: null,
  output: [{ name: 'a', type: 'INTEGER' }],
  distribution: 'any',
  parameters: null,
  isDeterministic: true,
};

export function fragment(given: Partial<Fragment> = {}): Fragment {
  return {
    sql: 'SELECT 1 AS c0',
    columns: [{ name: 'c0', type: 'INTEGER' }],
    scans: [],
    inputs: [],
    tables: [],
    ...given,
  };
}

export function fragmentTask(given: Partial<FragmentTask> = {}): FragmentTask {
  return {
    stage: 0,
    task: 0,
    fragment: fragment(),
    output: { kind: 'whole' },
    session: { timeZone: 'UTC', now: '2026-11-15 12:00:00+00' },
    ranges: {},
    reads: {},
    requires: [],
    memoryBytes: null,
    ...given,
  };
}
