import type { Instant, NodeId, TaskNo } from '../ids.ts';
import type { ExecutionKey } from '../job/execution-key.ts';
import type { AwaitedThings } from '../job/waits.ts';
import type { Limit } from '../queue/limit.ts';
import type { TaskError } from '../rows.ts';
import type { Slot } from './table.ts';

/** Facts that few tasks have: kept aside so that the others do not pay for them. */
export interface Extras {
  key: ExecutionKey | null;
  limits: readonly Limit[];
  parent: TaskNo | null;
  isAwaited: boolean;
  isAdded: boolean;
  error: TaskError | null;
  since: Instant | null;
  openChildren: number;
  children: Slot[] | null;
  waits: AwaitedThings | null;
  /** Lost sessions that held it; its own losses are those that count against it. */
  exposures: number;
  /** Nodes on which it failed in this run, the last one last. */
  failedOn: readonly NodeId[];
  /** The highest fence that a duplicate of an attempt was given, or may have been given by an earlier leader. */
  reservedFence: number;
}

export const NO_LIMITS: readonly Limit[] = []; // not frozen: to walk a frozen list takes an iterator

export const NO_EXTRAS: Readonly<Extras> = {
  key: null,
  limits: NO_LIMITS,
  parent: null,
  isAwaited: false,
  isAdded: false,
  error: null,
  since: null,
  openChildren: 0,
  children: null,
  waits: null,
  exposures: 0,
  failedOn: [],
  reservedFence: 0,
};
