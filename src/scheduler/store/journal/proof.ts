/**
 * Which rows of a batch only the tables can vouch for. The rest is proven by the batch itself or by earlier commits
 * that wait in memory: whatever is named there has been checked before.
 */
import {
  type Batch,
  batchOf,
  type JobNo,
  taskKey,
  type TaskRef,
  type TaskSpecRow,
} from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import type { LiveTasks } from './live-tasks.ts';
import { type PendingSignal, signalKey } from './pending-job.ts';
import type { Proving } from './sent-batch.ts';

type Layers = readonly Proving[];

/** Null when there is nothing left to ask; throws `bad_row` where the layers say the contrary. */
export function unproven(batch: Batch, layers: Layers, live: LiveTasks): Batch | null {
  const proof = new Proof(batch, layers, live);
  const left = {
    jobInserts: proof.newJobs(),
    jobUpdates: batch.jobUpdates.filter(({ no }) => !proof.hasJob(no)),
    specInserts: proof.newTasks(),
    taskUpdates: batch.taskUpdates.filter((ref) => !proof.hasTask(ref)),
    archived: proof.archived(),
    results: proof.newResults(),
    steps: proof.steps(),
    copiedResults: proof.copies(),
    signalInserts: proof.newSignals(),
    takenSignals: proof.takenSignals(),
  };
  if (Object.values(left).every((list) => list.length === 0)) return null;
  const { commitNo, lastSeq, nextJobNo } = batch;
  return batchOf({ ...left, commitNo, lastSeq, nextJobNo });
}

class Proof {
  readonly #batch: Batch;
  readonly #layers: Layers;
  readonly #live: LiveTasks;
  #newJobs: ReadonlySet<JobNo> | null = null;
  #newTasks: ReadonlySet<number> | null = null;

  constructor(batch: Batch, layers: Layers, live: LiveTasks) {
    this.#batch = batch;
    this.#layers = layers;
    this.#live = live;
  }

  /** Those of the batch itself. Most batches never ask: what they change came with an earlier one. */
  get #jobs(): ReadonlySet<JobNo> {
    return (this.#newJobs ??= new Set(this.#batch.jobInserts.map(({ no }) => no)));
  }

  get #tasks(): ReadonlySet<number> {
    return (this.#newTasks ??= new Set(this.#batch.taskInserts.map(refKey)));
  }

  hasJob(no: JobNo): boolean {
    if (this.#live.hasJob(no)) return true;
    for (const layer of this.#layers) if (layer.job(no) !== undefined) return true;
    return this.#jobs.has(no);
  }

  hasTask(ref: TaskRef): boolean {
    if (this.#live.has(ref)) return true;
    for (const layer of this.#layers) if (layer.task(ref) !== undefined) return true;
    return this.#tasks.has(refKey(ref));
  }

  /** The tables have nothing of it. */
  #isNewJob(no: JobNo): boolean {
    return this.#layers.some((layer) => layer.job(no)?.isNew === true) || this.#jobs.has(no);
  }

  #isNewTask(ref: TaskRef): boolean {
    for (const layer of this.#layers) if ((layer.task(ref)?.spec ?? null) !== null) return true;
    return this.#tasks.has(refKey(ref));
  }

  newJobs(): Batch['jobInserts'] {
    for (const { no, id, idempotencyKey: key } of this.#batch.jobInserts) {
      for (const layer of this.#layers) {
        if (layer.jobNoOf(id) !== undefined) throw badRow(`job ${no}`, `its id ${id} is taken`);
        if (key !== null && layer.jobIdForKey(key) !== undefined) {
          throw badRow(`job ${no}`, `its idempotency key ${key} is taken`);
        }
      }
    }
    return this.#batch.jobInserts;
  }

  /** Those that join a job that was there before. */
  newTasks(): Batch['specInserts'] {
    const { jobInserts, specInserts } = this.#batch;
    // Nearly always one of each job, in the same order.
    if (specInserts.every(({ jobNo }, at) => jobInserts[at]?.no === jobNo)) return [];
    const joining = specInserts.filter(({ jobNo }) => !this.#jobs.has(jobNo));
    if (joining.length > 0) this.#checkNames(joining);
    return joining.filter(({ jobNo }) => !this.#isNewJob(jobNo));
  }

  #checkNames(joining: readonly TaskSpecRow[]): void {
    const ids = new Set<string>();
    for (const jobNo of new Set(joining.map((spec) => spec.jobNo))) {
      for (const layer of this.#layers) {
        for (const { spec } of layer.job(jobNo)?.tasks.values() ?? []) {
          if (spec !== null) ids.add(`${jobNo}/${spec.id}`);
        }
      }
    }
    for (const spec of joining) {
      const row = `task ${nameOf(spec)}`;
      if (this.#layers.some((layer) => layer.task(spec))) throw badRow(row, 'its number is taken');
      if (ids.has(`${spec.jobNo}/${spec.id}`)) throw badRow(row, `its id ${spec.id} is taken`);
    }
  }

  /** Those whose row only the tables have. */
  archived(): Batch['archived'] {
    return this.#batch.archived.filter((ref) => {
      const [row] = this.#layers.flatMap((layer) => layer.task(ref)?.row ?? []);
      if (row === undefined) return true;
      for (const layer of this.#layers) {
        const runs = layer.job(ref.jobNo)?.history ?? [];
        if (runs.some(({ taskNo, run }) => taskNo === ref.taskNo && run === row.run)) {
          throw badRow(`the history of task ${nameOf(ref)}`, `run ${row.run} is there`);
        }
      }
      return false;
    });
  }

  newResults(): Batch['results'] {
    const { results, copiedResults } = this.#batch;
    for (const list of [results, copiedResults]) for (const row of list) this.#checkResult(row);
    const copied = copiedResults.map((row) => ({ ...row, body: '' }));
    const all = copied.length === 0 ? results : [...results, ...copied];
    return all.filter((ref) => !this.#live.isWithoutResult(ref) && !this.#isNewTask(ref));
  }

  #checkResult(ref: TaskRef & { readonly run: number }): void {
    for (const layer of this.#layers) {
      for (const { run } of layer.task(ref)?.results ?? []) {
        if (run !== ref.run) continue;
        throw badRow(`the result of task ${nameOf(ref)}`, `run ${ref.run} has one`);
      }
    }
  }

  /** A taken signal becomes a step. */
  steps(): Batch['steps'] {
    const taken = this.#batch.takenSignals.map((row) => ({ ...row, name: row.step, body: '' }));
    return [...this.#batch.steps, ...taken].filter((ref) => !this.hasTask(ref));
  }

  /** The key is completed, or only the tables know. */
  copies(): Batch['copiedResults'] {
    const { copiedResults, keyUpserts, keyDeletes } = this.#batch;
    return copiedResults.filter((row) => {
      const { scope } = row;
      const key = keyDeletes.includes(scope)
        ? null
        : (keyUpserts.findLast((each) => each.scope === scope) ??
          this.#layers.map((layer) => layer.key(scope)).find((each) => each !== undefined));
      if (key !== undefined && key?.state !== 'completed') {
        throw badRow(`the result of task ${nameOf(row)}`, `key ${scope} is not completed`);
      }
      return key === undefined;
    });
  }

  newSignals(): Batch['signalInserts'] {
    for (const { jobNo, no, id } of this.#batch.signalInserts) {
      const row = `signal ${signalKey(jobNo, no)}`;
      if (this.#signal(jobNo, no) !== undefined) throw badRow(row, 'its number is taken');
      for (const layer of this.#layers) {
        if (layer.job(jobNo) === undefined) continue;
        for (const { row: other } of layer.signals.values()) {
          if (other?.jobNo === jobNo && other.id === id) throw badRow(row, `its id ${id} is taken`);
        }
      }
    }
    return this.#batch.signalInserts.filter(({ jobNo }) => !this.#isNewJob(jobNo));
  }

  takenSignals(): Batch['takenSignals'] {
    const { signalInserts, takenSignals } = this.#batch;
    const inserted = new Map(signalInserts.map((row) => [signalKey(row.jobNo, row.no), row.taken]));
    const taken = new Set<string>();
    return takenSignals.filter((row) => {
      const key = signalKey(row.jobNo, row.signalNo);
      const isTaken = inserted.get(key) ?? this.#signal(row.jobNo, row.signalNo)?.isTaken;
      const isMissing = isTaken === undefined && this.#isNewJob(row.jobNo);
      if (isTaken === true || isMissing || taken.has(key)) {
        throw badRow(`signal ${key}`, 'there is none, or it was taken already');
      }
      taken.add(key);
      return isTaken === undefined;
    });
  }

  #signal(jobNo: JobNo, no: number): PendingSignal | undefined {
    const key = signalKey(jobNo, no);
    return this.#layers.map((layer) => layer.signals.get(key)).find((each) => each !== undefined);
  }
}

function refKey({ jobNo, taskNo }: TaskRef): number {
  return taskKey(jobNo, taskNo);
}

function nameOf({ jobNo, taskNo }: TaskRef): string {
  return `${jobNo}/${taskNo}`;
}
