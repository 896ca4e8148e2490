import { readOptions } from '../document/job-options.ts';
import type { StoredJobOptions, WrittenOptions } from '../document/job-options.ts';
import { taskNo } from '../ids.ts';
import type { Instant, JobId, JobNo, ScheduleId, TaskId, TaskNo } from '../ids.ts';
import type { JobRow, TaskError } from '../rows.ts';
import type { JobState, Priority } from '../task/chart.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import type { JobQueue } from '../queue/job-queue.ts';
import type { Share } from '../queue/share.ts';
import type { Edges } from './edges.ts';
import type { JobOutputs } from './outputs.ts';
import { JobSignals } from './signals.ts';

const NO_NAMES: readonly string[] = [];

/** A live job: in memory from submit until its last task has ended. */
export class Job {
  readonly no: JobNo;
  readonly id: JobId;
  readonly name: string;
  /** As it was submitted: see `priority`. */
  readonly submittedPriority: Priority;
  readonly idempotencyKey: string | null;
  readonly maxParallel: number | null;
  readonly onFailure: 'finish' | 'cancel';
  readonly totalMs: number | null;
  readonly scheduleId: ScheduleId | null;
  readonly output: string | null;
  readonly labels: readonly string[];
  /** As it was submitted: see `runAt`. */
  readonly submittedRunAt: Instant | null;
  written: WrittenOptions;
  /** The turns that it takes together with other jobs; null for a job that takes its own. Set when it comes into
   * memory. */
  share: Share | null = null;
  /** Of the batches that it may begin or join: see `batchId`. Set when it comes into memory. */
  batchId: string | null = null;
  readonly createdAt: Instant;
  state: JobState;
  run: number;
  stopping: JobRow['stopping'];
  error: TaskError | null;
  startedAt: Instant | null;
  finishedAt: Instant | null;
  /** The batch that it has begun is full: it does not wait for its time. */
  isFull = false;
  /** When this run began: total timeouts count from here. A restored re-run counts from its first assignment, since
   * the row does not say when it was requested. */
  runSince: Instant;
  /** By task number. */
  slots: Slot[] = [];
  edges: Edges | null = null;
  /** Where its outputs lie; null for a job whose tasks leave none on their nodes. */
  outputs: JobOutputs | null = null;
  /** Tasks that have not ended. */
  open = 0;
  /** Leases held now. */
  assigned = 0;
  /** Queued tasks, which are ready. */
  queued = 0;
  /** The round in which it is the job's turn: see FairQueue. */
  virtualTime = 0;
  /** Lines that came forward while the job was at its limit. */
  parkedQueues: JobQueue[] | null = null;
  #signals: JobSignals | null = null;
  #byId: Map<TaskId, TaskNo> | null = null;

  /** `written`: the options of the row. */
  constructor(row: JobRow, written: WrittenOptions = readOptions(row.options)) {
    this.no = row.no;
    this.id = row.id;
    this.name = row.name;
    this.submittedPriority = row.priority;
    this.idempotencyKey = row.idempotencyKey;
    this.maxParallel = row.maxParallel;
    this.onFailure = row.onFailure;
    this.totalMs = row.totalMs;
    this.scheduleId = row.scheduleId;
    this.output = row.output;
    this.labels = row.labels;
    this.submittedRunAt = row.runAt;
    this.written = written;
    this.createdAt = row.createdAt;
    this.state = row.state;
    this.run = row.run;
    this.stopping = row.stopping;
    this.error = row.error;
    this.startedAt = row.startedAt;
    this.finishedAt = row.finishedAt;
    this.runSince = row.run === 1 ? row.createdAt : (row.startedAt ?? row.createdAt);
  }

  /** One whose only task is ready, and that has nothing else to say: see `PackedJobs`. */
  static queued(
    own: Pick<JobRow, 'no' | 'id' | 'createdAt'>,
    kind: Pick<JobRow, 'name' | 'priority' | 'maxParallel' | 'onFailure' | 'output' | 'labels'> & {
      readonly written: WrittenOptions;
    },
  ): Job {
    // Field by field, as everywhere: rows of another shape would make every access to one slower.
    const row: JobRow = {
      no: own.no,
      id: own.id,
      name: kind.name,
      priority: kind.priority,
      idempotencyKey: null,
      maxParallel: kind.maxParallel,
      onFailure: kind.onFailure,
      totalMs: null,
      scheduleId: null,
      output: kind.output,
      labels: kind.labels,
      runAt: null,
      options: kind.written.text,
      createdAt: own.createdAt,
      state: 'queued',
      run: 1,
      taskCount: 1,
      stopping: null,
      error: null,
      startedAt: null,
      finishedAt: null,
    };
    return new Job(row, kind.written);
  }

  get options(): StoredJobOptions {
    return this.written.options;
  }

  get priority(): Priority {
    return this.options.priority ?? this.submittedPriority;
  }

  /** None of its tasks starts before. */
  get runAt(): Instant | null {
    return this.options.runAt ?? this.submittedRunAt;
  }

  get atLimit(): boolean {
    return this.maxParallel !== null && this.assigned >= this.maxParallel;
  }

  /** Created on first use, since most jobs get no signal. */
  get signals(): JobSignals {
    return (this.#signals ??= new JobSignals());
  }

  get hasSignals(): boolean {
    return this.#signals !== null;
  }

  /** The names of the signals that nobody has taken. */
  get untakenSignals(): readonly string[] {
    return this.#signals === null ? NO_NAMES : this.#signals.untaken;
  }

  /** All tasks are in: an array that grew by pushing keeps room for sixteen more. */
  trim(): void {
    if (this.slots.length > 1) this.slots = this.slots.slice();
  }

  slot(no: TaskNo): Slot | null {
    return this.slots[no] ?? null;
  }

  /** By name; the index is built on first use, since most jobs are never asked by name, and grows
   * with the job. */
  taskNo(id: TaskId, tasks: TaskTable): TaskNo | null {
    const byId = (this.#byId ??= new Map<TaskId, TaskNo>());
    for (let no = byId.size; no < this.slots.length; no += 1) {
      byId.set(tasks.id(this.slots[no] as Slot), taskNo(no));
    }
    return byId.get(id) ?? null;
  }
}

export function jobRow(job: Job): JobRow {
  return {
    no: job.no,
    id: job.id,
    name: job.name,
    priority: job.submittedPriority,
    idempotencyKey: job.idempotencyKey,
    maxParallel: job.maxParallel,
    onFailure: job.onFailure,
    totalMs: job.totalMs,
    scheduleId: job.scheduleId,
    output: job.output,
    labels: job.labels,
    runAt: job.submittedRunAt,
    options: job.written.text,
    createdAt: job.createdAt,
    state: job.state,
    run: job.run,
    taskCount: job.slots.length,
    stopping: job.stopping,
    error: job.error,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
  };
}
