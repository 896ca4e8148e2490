/** What clients ask of the leader about flows. Starting one is a submission: see `JobService`. */
import type { JsonObject, NodeId, WrittenStart } from '../core/index.ts';

/** A flow that can be started by its name. */
export interface FlowShape {
  readonly name: string;
  /** Of graph and schema: another version is another graph. */
  readonly version: string;
  /** JSON Schema of the input; `{}` where nothing is known of it. */
  readonly input: JsonObject;
  /** The events that start it, by name or with what their data must have. Absent in the answer of a server of an earlier version. */
  readonly on?: readonly WrittenStart[];
  /** The schedules that it declares, and why one is not there as it is declared. Absent in the answer of a server of an
   * earlier version. */
  readonly schedules?: readonly { readonly id: string; readonly note?: string }[];
  /** Live nodes that have it, in any version. */
  readonly nodes: readonly NodeId[];
}

export interface FlowService {
  /** By name. */
  list(): readonly FlowShape[];
  /** Throws `not_found` if no worker has ever published it. */
  check(name: string): void;
  /** Until a worker publishes it again. Throws `not_found`. */
  forget(name: string): Promise<void>;
}
