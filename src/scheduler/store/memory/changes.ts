/**
 * Changes to one shard that can be taken back. Every check is made against the rows as they are at
 * that point of the batch, which is what a database does; a refusal then undoes what went before.
 * Validating everything up front would need a second copy of each rule for rows that the same
 * batch has just written.
 */
import {
  isFinished,
  type JobNo,
  type JobRow,
  keyScope,
  type SignalRow,
  type StepRow,
  type TakenSignalRow,
  type TaskNo,
  type TaskRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import { updatedJob } from '../journal/job-change.ts';
import { badRow } from '../row-checks.ts';
import type { JobRecord, Shard, TaskRecord } from './shard.ts';

export class Changes {
  readonly #shard: Shard;
  readonly #undo: (() => void)[] = [];

  constructor(shard: Shard) {
    this.#shard = shard;
  }

  rollback(): void {
    for (let at = this.#undo.length - 1; at >= 0; at -= 1) this.#undo[at]?.();
  }

  put<K, V>(map: Map<K, V>, key: K, value: V): void {
    const before = map.get(key);
    this.#undo.push(before === undefined ? () => map.delete(key) : () => map.set(key, before));
    map.set(key, value);
  }

  remove<K, V>(map: Map<K, V>, key: K): void {
    const before = map.get(key);
    if (before === undefined) return;
    this.#undo.push(() => map.set(key, before));
    map.delete(key);
  }

  insertJob(row: JobRow): void {
    const shard = this.#shard;
    const name = `job ${row.no}`;
    if (shard.jobs.has(row.no)) throw badRow(name, 'its number is taken');
    if (shard.jobNos.has(row.id)) throw badRow(name, `its id ${row.id} is taken`);
    this.put(shard.jobs, row.no, {
      row,
      tasks: new Map(),
      taskNos: new Map(),
      scopes: null,
      signals: null,
    });
    this.put(shard.jobNos, row.id, row.no);
    if (row.idempotencyKey !== null) {
      const taken = shard.jobNosByKey.has(row.idempotencyKey);
      if (taken) throw badRow(name, `its idempotency key ${row.idempotencyKey} is taken`);
      this.put(shard.jobNosByKey, row.idempotencyKey, row.no);
    }
    this.#setLive(row.no, !isFinished(row.state));
  }

  updateJob(row: JobRow): void {
    const record = this.#job(row.no, `job ${row.no}`);
    const before = record.row;
    this.#undo.push(() => {
      record.row = before;
    });
    record.row = updatedJob(before, row);
    this.#setLive(row.no, !isFinished(row.state));
  }

  insertSpec(spec: TaskSpecRow): void {
    const name = `the spec of task ${spec.jobNo}/${spec.taskNo}`;
    const job = this.#job(spec.jobNo, name);
    if (job.tasks.has(spec.taskNo)) throw badRow(name, 'its number is taken');
    if (job.taskNos.has(spec.id)) throw badRow(name, `its id ${spec.id} is taken`);
    this.put(job.tasks, spec.taskNo, {
      spec,
      task: null,
      history: null,
      results: null,
      steps: null,
    });
    this.put(job.taskNos, spec.id, spec.taskNo);
    if (spec.idempotencyKey === null) return;
    const scope = keyScope(spec.executor, spec.idempotencyKey);
    const scopes = (job.scopes ??= new Set());
    if (scopes.has(scope)) return;
    this.#undo.push(() => scopes.delete(scope));
    scopes.add(scope);
  }

  insertTask(task: TaskRow): void {
    const name = `task ${task.jobNo}/${task.taskNo}`;
    const record = this.#job(task.jobNo, name).tasks.get(task.taskNo);
    if (record === undefined) throw badRow(name, 'it has no spec');
    if (record.task !== null) throw badRow(name, 'its number is taken');
    this.#undo.push(() => {
      record.task = null;
    });
    record.task = task;
  }

  updateTask(task: TaskRow): void {
    const record = this.#task(task.jobNo, task.taskNo, `task ${task.jobNo}/${task.taskNo}`);
    const before = record.task;
    this.#undo.push(() => {
      record.task = before;
    });
    record.task = task;
  }

  archiveTask(jobNo: JobNo, taskNo: TaskNo): void {
    const name = `the history of task ${jobNo}/${taskNo}`;
    this.insertHistory(this.#task(jobNo, taskNo, name).task);
  }

  insertHistory(old: TaskRow): void {
    const name = `the history of task ${old.jobNo}/${old.taskNo}`;
    const history = (this.#task(old.jobNo, old.taskNo, name).history ??= []);
    if (history.some((row) => row.run === old.run)) throw badRow(name, `run ${old.run} is there`);
    this.#undo.push(() => history.pop());
    history.push(old);
  }

  insertResult(jobNo: JobNo, taskNo: TaskNo, run: number, body: string): void {
    const name = `the result of task ${jobNo}/${taskNo}`;
    const results = (this.#task(jobNo, taskNo, name).results ??= new Map<number, string>());
    if (results.has(run)) throw badRow(name, `run ${run} has one`);
    this.put(results, run, body);
  }

  copyResult(jobNo: JobNo, taskNo: TaskNo, run: number, scope: string): void {
    const key = this.#shard.keys.get(scope);
    if (key?.state !== 'completed') {
      throw badRow(`the result of task ${jobNo}/${taskNo}`, `key ${scope} is not completed`);
    }
    if (key.result !== null) this.insertResult(jobNo, taskNo, run, key.result);
  }

  /** The first step under a name stays, so that a retried attempt sees what the earlier one saw. */
  insertStep(step: StepRow): void {
    const name = `step ${step.name} of task ${step.jobNo}/${step.taskNo}`;
    const record = this.#task(step.jobNo, step.taskNo, name);
    const runs = (record.steps ??= new Map<number, Map<string, string>>());
    const steps = runs.get(step.run) ?? new Map<string, string>();
    if (!runs.has(step.run)) this.put(runs, step.run, steps);
    if (!steps.has(step.name)) this.put(steps, step.name, step.body);
  }

  insertSignal(signal: SignalRow): void {
    const name = `signal ${signal.no} of job ${signal.jobNo}`;
    const job = this.#job(signal.jobNo, name);
    const signals = (job.signals ??= { byNo: new Map(), nos: new Map() });
    if (signals.byNo.has(signal.no)) throw badRow(name, 'its number is taken');
    if (signals.nos.has(signal.id)) throw badRow(name, `its id ${signal.id} is taken`);
    this.put(signals.byNo, signal.no, signal);
    this.put(signals.nos, signal.id, signal.no);
  }

  /** A signal reaches one wait: taking it a second time is an error. */
  takeSignal({ jobNo, signalNo, taskNo, run, step }: TakenSignalRow): void {
    const name = `signal ${signalNo} of job ${jobNo}`;
    const signals = this.#job(jobNo, name).signals?.byNo;
    const signal = signals?.get(signalNo);
    if (signals === undefined || signal === undefined)
      throw badRow(name, 'there is no such signal');
    if (signal.taken) throw badRow(name, 'it was taken already');
    this.insertStep({ jobNo, taskNo, run, name: step, body: signal.body });
    this.put(signals, signalNo, { ...signal, taken: true });
  }

  #setLive(no: JobNo, live: boolean): void {
    const set = this.#shard.live;
    if (set.has(no) === live) return;
    this.#undo.push(() => (live ? set.delete(no) : set.add(no)));
    if (live) set.add(no);
    else set.delete(no);
  }

  #job(no: JobNo, name: string): JobRecord {
    const record = this.#shard.jobs.get(no);
    if (record === undefined) throw badRow(name, `there is no job ${no}`);
    return record;
  }

  #task(jobNo: JobNo, taskNo: TaskNo, name: string): TaskRecord & { task: TaskRow } {
    const record = this.#job(jobNo, name).tasks.get(taskNo);
    if (record === undefined || record.task === null) {
      throw badRow(name, `there is no task ${jobNo}/${taskNo}`);
    }
    return record as TaskRecord & { task: TaskRow };
  }
}
