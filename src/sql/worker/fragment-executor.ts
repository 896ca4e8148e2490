/** The executor of fragments, and what each run needs of its node. */
import type { Pins } from '../catalog/index.ts';
import type { EngineSize, PooledEngine } from '../engine/index.ts';
import { MissingOperatorError, annotate } from '../../tasks/executors/index.ts';
import type { Executor } from '../../tasks/executors/index.ts';
import { fragmentNo } from '../../scheduler/core/index.ts';
import type { OperatorDeclaration, TaskId } from '../../scheduler/core/index.ts';
import { FRAGMENT_EXECUTOR } from '../plan/index.ts';
import type { FragmentResult } from '../plan/index.ts';
import type { OutputStore, PartitionReader } from '../shuffle/index.ts';
import type { EarlyInputs } from './early-inputs.ts';
import { FragmentRun } from './fragment-run.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { SharedInputs } from './shared-inputs.ts';
import { isDiskFull, taskFault } from './task-fault.ts';
import { readFragmentTask, requiredBy } from './task-input.ts';

export interface FragmentNode {
  /** The id under which other nodes know its outputs. */
  readonly nodeId: string;
  /** Where others fetch its outputs, as HOST:PORT; null if they cannot. */
  readonly address: () => Promise<string | null>;
  readonly store: OutputStore;
  readonly reader: PartitionReader;
  readonly shared: SharedInputs;
  readonly early: EarlyInputs;
  readonly pins: Pins;
  /** Real paths that may be read; null for no limit. */
  readonly roots: readonly string[] | null;
  readonly budget: MemoryBudget;
  /** The default memory of a fragment. */
  readonly shareBytes: number;
  /** The most fragments that run at the same time. */
  readonly slots: number;
  /** Processors of this node. */
  readonly cores: number;
  readonly engines: Engines;
  /** What this worker has of a custom operator or function; undefined if it does not have it. */
  readonly operator: (name: string) => OperatorDeclaration | undefined;
  /** Rows that an operator may return for one batch of its input. */
  readonly operatorRowsMax: number;
  /** A fragment failed on a full disk. */
  readonly onDiskFull: () => void;
}

export interface Engines {
  /** Engines with the same limits are reused. */
  acquire(size: EngineSize, signal: AbortSignal): Promise<PooledEngine>;
}

export function fragmentExecutor(node: FragmentNode): Executor {
  let atWork = 0;
  return {
    name: FRAGMENT_EXECUTOR,
    async run(input, context) {
      const task = readFragmentTask(input);
      const missing = requiredBy(task).find((name) => node.operator(name) === undefined);
      // The leader sends the task to another node; it is not the query's fault.
      if (missing !== undefined) throw new MissingOperatorError(missing);
      atWork += 1;
      try {
        const result = await new FragmentRun(node, task, context).run(() =>
          threadsFor(node.cores, node.slots, atWork, task.threads),
        );
        annotate(context, figuresOf(context.taskId, result));
        return result;
      } catch (error) {
        if (isDiskFull(error)) node.onDiskFull();
        if (error instanceof MissingOperatorError) context.log.error(changedModule(error));
        throw await taskFault(error, context);
      } finally {
        atWork -= 1;
      }
    },
  };
}

function figuresOf(
  taskId: TaskId,
  { metrics }: FragmentResult,
): Readonly<Record<string, string | number>> {
  const { rowsIn, rowsOut, bytesOut, fetchedBytes, localBytes, spilledBytes } = metrics;
  return {
    'db.system.name': 'duckdb',
    'millrace.query.stage': fragmentNo(taskId)?.stage ?? 0,
    'millrace.query.rows_in': rowsIn,
    'millrace.query.rows_out': rowsOut,
    'millrace.query.bytes_out': bytesOut,
    'millrace.query.fetched_bytes': fetchedBytes,
    'millrace.query.local_bytes': localBytes,
    'millrace.query.spilled_bytes': spilledBytes,
  };
}

/** Found by the engine, which has loaded the module later than this process has. */
function changedModule({ message, why }: MissingOperatorError): string {
  const todo = 'Its module has changed since this worker registered: restart the worker.';
  return [`${message}.`, todo, ...(why === null ? [] : [why])].join(' ');
}

/**
 * A few fragments have all processors each, but no more than the leader's `share` of the cluster's: other workers may be
 * on the same machine. Many have their share of this worker's. So there are few different values: each number of
 * threads is an engine of its own, and starting one costs a quarter of a second.
 */
export function threadsFor(
  cores: number,
  slots: number,
  atWork: number,
  share: number = cores,
): number {
  if (atWork > fewOf(slots)) return Math.max(1, Math.floor(cores / slots));
  return Math.max(1, Math.min(cores, share));
}

/** Up to how many fragments count as few; they have engines beyond those of the slots. */
export function fewOf(slots: number): number {
  return Math.max(1, Math.floor(slots / 4));
}
