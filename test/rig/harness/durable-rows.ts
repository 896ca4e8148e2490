/**
 * What a store would hold, as plain maps: batches go in, images come out, all in one turn. It
 * refuses what no store takes, so that a wrong row is found at the step that wrote it.
 */
import {
  MillraceError,
  isFinished,
  isTerminal,
  jobNo,
  keyScope,
} from '../../../src/scheduler/core/index.ts';
import type {
  Batch,
  ClusterImage,
  EventRow,
  Instant,
  JobId,
  JobImage,
  JobNo,
  JobRow,
  KeyRow,
  NodeId,
  NodeRow,
  ScheduleId,
  LimitRow,
  ScheduleRow,
  Seed,
  SignalRow,
  TaskId,
  TaskNo,
  TaskRow,
  TaskSpecRow,
} from '../../../src/scheduler/core/index.ts';

export interface DurableTask {
  readonly spec: TaskSpecRow;
  row: TaskRow;
  /** Rows of earlier runs, oldest first. */
  readonly history: TaskRow[];
  /** JSON text by run. */
  readonly results: Map<number, string>;
  /** JSON text by run and name. */
  readonly steps: Map<string, string>;
}

export interface DurableJob {
  row: JobRow;
  readonly tasks: DurableTask[];
  readonly byId: Map<TaskId, DurableTask>;
  /** By number. */
  readonly signals: SignalRow[];
}

export class DurableRows {
  lastSeq = 0;
  commitNo = 0;
  nextJobNo: JobNo = jobNo(1);
  readonly jobs: Map<JobNo, DurableJob> = new Map();
  readonly jobsById: Map<JobId, DurableJob> = new Map();
  readonly jobsByKey: Map<string, DurableJob> = new Map();
  /** Unfinished jobs. */
  readonly live: Set<JobNo> = new Set();
  readonly keys: Map<string, KeyRow> = new Map();
  readonly nodes: Map<NodeId, NodeRow> = new Map();
  readonly schedules: Map<ScheduleId, ScheduleRow> = new Map();
  readonly limits: Map<string, LimitRow> = new Map();
  readonly inboxDeletes: Set<number> = new Set();
  readonly events: EventRow[] = [];

  /** The results that came with a job, for tasks that are done when it is admitted. */
  seeds(id: JobId): ReadonlyMap<TaskNo, Seed> {
    const given = (this.jobsById.get(id)?.tasks ?? []).filter(
      ({ spec }) => spec.options?.includes('"admission"') === true,
    );
    return new Map(
      given.map(({ spec, row, results }) => {
        return [spec.taskNo, { state: 'succeeded', result: results.get(row.run) ?? null }];
      }),
    );
  }

  apply(batch: Batch): void {
    this.#applyJobs(batch);
    this.#applyPayloads(batch);
    for (const row of batch.nodeUpserts) this.nodes.set(row.id, row);
    for (const id of batch.nodeDeletes) this.nodes.delete(id);
    for (const row of batch.limitUpserts) this.limits.set(row.id, row);
    for (const id of batch.limitDeletes) this.limits.delete(id);
    for (const row of batch.scheduleUpserts) this.schedules.set(row.id, row);
    for (const id of batch.scheduleDeletes) this.schedules.delete(id);
    for (const no of batch.inboxDeletes) this.inboxDeletes.add(no);
    for (const event of batch.events) {
      demand(event.seq === this.lastSeq + 1, `event ${event.seq} follows ${this.lastSeq}`);
      this.lastSeq = event.seq;
      this.events.push(event);
    }
    demand(batch.lastSeq === this.lastSeq, 'the batch says how far the log has come');
    demand(batch.commitNo === this.commitNo + 1, 'the commits are numbered without gaps');
    this.commitNo = batch.commitNo;
    this.nextJobNo = batch.nextJobNo;
  }

  task(jobId: JobId, taskId: TaskId): DurableTask | undefined {
    return this.jobsById.get(jobId)?.byId.get(taskId);
  }

  cluster(now: Instant): ClusterImage {
    const { commitNo, lastSeq, nextJobNo } = this;
    const [nodes, schedules] = [[...this.nodes.values()], [...this.schedules.values()]];
    return {
      now,
      commitNo,
      lastSeq,
      nextJobNo,
      nodes,
      schedules,
      limits: [...this.limits.values()],
    };
  }

  image({ row, tasks, signals }: DurableJob): JobImage {
    const scopes = new Set(tasks.map(({ spec }) => scopeOf(spec)));
    return {
      job: row,
      specs: tasks.map(({ spec }) => ({ ...spec, input: null })),
      tasks: tasks.map((task) => task.row),
      keys: [...scopes].flatMap((scope) => this.keys.get(scope ?? '') ?? []),
      signals: signals.map((signal) => ({ ...signal, body: '' })),
    };
  }

  liveImages(): JobImage[] {
    const numbers = [...this.live].toSorted((a, b) => a - b);
    return numbers.flatMap((no) => {
      const job = this.jobs.get(no);
      return job === undefined ? [] : [this.image(job)];
    });
  }

  #applyJobs(batch: Batch): void {
    for (const { jobNo, taskNo } of batch.archived) {
      const { row, history } = this.#task(jobNo, taskNo);
      demand(isTerminal(row.state), `an archived task has ended, not ${row.state}`);
      demand(!history.some(({ run }) => run === row.run), `run ${row.run} is archived once`);
      history.push(row);
    }
    for (const row of batch.jobInserts) this.#insertJob(row);
    for (const row of batch.jobUpdates) {
      checkJob(row);
      const job = this.jobs.get(row.no);
      demand(job !== undefined, `job ${row.no} is there to be updated`);
      job.row = row;
      this.#setLive(row);
    }
    for (const [at, spec] of batch.specInserts.entries()) {
      const row = batch.taskInserts[at];
      const job = this.jobs.get(spec.jobNo);
      demand(job !== undefined && row !== undefined, 'specs and tasks come in pairs');
      demand(spec.taskNo === job.tasks.length, 'task numbers have no gaps');
      demand(!job.byId.has(spec.id), `task ${spec.id} is new`);
      checkTask(row);
      const task = { spec, row, history: [], results: new Map(), steps: new Map() };
      job.tasks.push(task);
      job.byId.set(spec.id, task);
    }
    for (const row of batch.taskUpdates) {
      checkTask(row);
      const task = this.#task(row.jobNo, row.taskNo);
      demand(row.fence >= task.row.fence, 'a fence only grows');
      demand(
        !isTerminal(task.row.state) || row.run > task.row.run,
        `an ended task stays ${task.row.state} within its run`,
      );
      task.row = row;
    }
  }

  #insertJob(row: JobRow): void {
    checkJob(row);
    demand(!this.jobs.has(row.no) && !this.jobsById.has(row.id), `job ${row.id} is new`);
    const job: DurableJob = { row, tasks: [], byId: new Map(), signals: [] };
    this.jobs.set(row.no, job);
    this.jobsById.set(row.id, job);
    if (row.idempotencyKey !== null) {
      demand(!this.jobsByKey.has(row.idempotencyKey), `key ${row.idempotencyKey} is new`);
      this.jobsByKey.set(row.idempotencyKey, job);
    }
    this.#setLive(row);
  }

  #setLive(row: JobRow): void {
    if (isFinished(row.state)) this.live.delete(row.no);
    else this.live.add(row.no);
  }

  #applyPayloads(batch: Batch): void {
    for (const { jobNo, taskNo, run, body } of batch.results) {
      this.#putResult(this.#task(jobNo, taskNo), run, body);
    }
    for (const row of batch.keyUpserts) this.keys.set(row.scope, row);
    for (const scope of batch.keyDeletes) this.keys.delete(scope);
    for (const { jobNo, taskNo, run, scope } of batch.copiedResults) {
      const key = this.keys.get(scope);
      demand(key?.state === 'completed', `key ${scope} is completed when it is copied`);
      if (key.result !== null) this.#putResult(this.#task(jobNo, taskNo), run, key.result);
    }
    for (const { jobNo, taskNo, run, name, body } of batch.steps) {
      const { steps } = this.#task(jobNo, taskNo);
      if (!steps.has(`${run}/${name}`)) steps.set(`${run}/${name}`, body);
    }
    this.#applySignals(batch);
  }

  #applySignals(batch: Batch): void {
    for (const row of batch.signalInserts) {
      const signals = this.jobs.get(row.jobNo)?.signals;
      demand(signals !== undefined && row.no === signals.length, 'signals have no gaps');
      demand(!signals.some(({ id }) => id === row.id), `signal ${row.id} is new`);
      signals.push(row);
    }
    for (const { jobNo, signalNo, taskNo, run, step } of batch.takenSignals) {
      const signals = this.jobs.get(jobNo)?.signals;
      const signal = signals?.[signalNo];
      demand(signals !== undefined && signal !== undefined, `signal ${signalNo} is there`);
      demand(!signal.taken, `signal ${signalNo} is taken once`);
      signals[signalNo] = { ...signal, taken: true };
      const { steps } = this.#task(jobNo, taskNo);
      const name = `${run}/${step}`;
      if (!steps.has(name)) steps.set(name, signal.body);
    }
  }

  #putResult({ results }: DurableTask, run: number, body: string): void {
    demand(!results.has(run), `run ${run} has one result`);
    results.set(run, body);
  }

  #task(no: JobNo, taskNo: number): DurableTask {
    const task = this.jobs.get(no)?.tasks[taskNo];
    demand(task !== undefined, `task ${no}/${taskNo} is there`);
    return task;
  }
}

function scopeOf({ executor, idempotencyKey }: TaskSpecRow): string | null {
  return idempotencyKey === null ? null : keyScope(executor, idempotencyKey);
}

function checkJob(row: JobRow): void {
  demand(isFinished(row.state) === (row.finishedAt !== null), `job ${row.id}: ${row.state}`);
}

function checkTask(row: TaskRow): void {
  const name = `task ${row.jobNo}/${row.taskNo}, ${row.state}`;
  for (const column of ['run', 'attempt', 'failures', 'losses', 'fence'] as const) {
    demand(Number.isSafeInteger(row[column]), `${name}: ${column} is ${row[column]}`);
  }
  demand((row.state === 'running') === (row.sessionId !== null), `${name}: the session holds it`);
  demand(isTerminal(row.state) === (row.finishedAt !== null), `${name}: finishedAt`);
  demand((row.state === 'delayed') === (row.notBefore !== null), `${name}: notBefore`);
  demand(!isTerminal(row.state) || row.waits === null, `${name}: waits for ${row.waits}`);
  demand(row.progress >= 0 && row.progress <= 1, `${name}: progress is ${row.progress}`);
}

function demand(condition: boolean, what: string): asserts condition {
  if (condition) return;
  throw new MillraceError({ code: 'bad_row', what: `a store would refuse this: ${what}` });
}
