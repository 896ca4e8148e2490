import type { Node } from '../node/node.ts';
import type { Slot } from '../task/table.ts';
import type { Job } from './job.ts';
import { StageTimes } from './stage-times.ts';

/**
 * Where the outputs of a job are: which session retains the output of each succeeded task. An output is lost with
 * that session, or when a reader did not find it. A lost output that is not needed now may be needed later, so the
 * loss is remembered.
 */
export class JobOutputs {
  readonly #job: Job;
  /** Null for one that is gone. */
  readonly #keepers: Map<Slot, Node | null> = new Map();
  /** Those that know of the job, also if all that they kept of it is being recomputed. */
  readonly #nodes: Set<Node> = new Set();
  readonly #stages: Map<number, StageTimes> = new Map();
  /** How many of its tasks were started a second time. */
  duplicates = 0;

  constructor(job: Job) {
    this.#job = job;
  }

  keep(slot: Slot, node: Node): void {
    this.#keepers.set(slot, node);
    this.#nodes.add(node);
    node.outputJobs.add(this.#job);
  }

  /** A task of this stage that may be started a second time. */
  addToStage(no: number, slot: Slot): void {
    const stage = this.#stages.get(no) ?? new StageTimes();
    this.#stages.set(no, stage);
    stage.slots.push(slot);
  }

  stage(no: number): StageTimes | null {
    return this.#stages.get(no) ?? null;
  }

  /** Null when it is gone, or was never made here. */
  keeper(slot: Slot): Node | null {
    return this.#keepers.get(slot) ?? null;
  }

  lose(slot: Slot): void {
    this.#keepers.set(slot, null);
  }

  /** All that this session has kept. */
  loseFrom(node: Node): void {
    for (const [slot, keeper] of this.#keepers) if (keeper === node) this.#keepers.set(slot, null);
    this.#nodes.delete(node);
    node.outputJobs.delete(this.#job);
  }

  /** The task begins a new run: it has made nothing yet. */
  forget(slot: Slot): void {
    this.#keepers.delete(slot);
  }

  /** The job leaves the memory. */
  clear(): void {
    for (const node of this.#nodes) node.outputJobs.delete(this.#job);
    this.#nodes.clear();
    this.#keepers.clear();
  }
}
