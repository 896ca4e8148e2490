/** Outputs of fragments that a worker registers with the leader, instead of describing them in a result. */
import type { FragmentNo, JobId, NodeId, TaskNo } from '../core/index.ts';
import type { Session } from './worker-service.ts';

/** A fragment that a session runs now. */
export interface HeldFragment extends FragmentNo {
  readonly query: JobId;
  readonly taskId: string;
  readonly fence: number;
  readonly attempt: number;
  readonly nodeId: NodeId;
  /** Where others reach the node; null if they cannot. */
  readonly address: string | null;
}

/** One attempt at a fragment, as its worker names it. */
export interface FragmentKey extends FragmentNo {
  readonly query: JobId;
  /** 0 for "the current one". */
  readonly fence: number;
  readonly attempt: number;
}

/** A piece of the rows that a task of the last stage has made. */
export interface ResultChunk extends FragmentKey {
  readonly chunk: number;
  readonly payload: Uint8Array;
  /** Of all chunks; null if more will follow. */
  readonly rows: number | null;
}

export interface ResultRegistry {
  /** Returns the number of the chunk that is expected next. Repeated chunks change nothing. */
  register(chunk: ResultChunk, by: Session): Promise<number>;
}

export interface FragmentResults {
  /**
   * What a completed fragment is stored with: the result that its worker has reported, if it is one, or what the worker
   * has registered. `fault` says what is wrong with a result, as the end of a sentence.
   */
  complete(fragment: HeldFragment, reported: string | null): Promise<FragmentEnd>;
  /** The end of a fragment with this result was committed: what may be fetched now, ahead of the tasks that read it. */
  committed(fragment: HeldFragment, result: string): Promise<readonly EarlyRead[]>;
}

/** A partition of a committed output that a task will read which is not ready yet. */
export interface EarlyRead {
  readonly query: JobId;
  /** The number of the task that will read it. */
  readonly reader: TaskNo;
  /** The node that has it. */
  readonly nodeId: string;
  readonly bytes: number;
  /** What is in the input of such a task, as JSON. */
  readonly read: string;
}

export type FragmentEnd =
  | { readonly result: string }
  | { readonly fault: string }
  /** It was completed without a result, and not all of its output is registered here. */
  | 'unregistered';
