/**
 * Durations that a leader observes, over all terms of its process. Everything comes from committed rows, so a measure
 * never counts what did not happen; what is under way when the process ends is not counted.
 */
import { FRAGMENT_EXECUTOR, TaskMap } from '../core/index.ts';
import type {
  EventView,
  Instant,
  JobNo,
  LogKind,
  NamedBatch,
  TaskNo,
  TaskRow,
} from '../core/index.ts';
import { Histogram } from '../../kit/index.ts';

export type AttemptOutcome =
  | 'succeeded'
  | 'failed'
  | 'retried'
  | 'cancelled'
  | 'suspended'
  | 'returned'
  | 'lost'
  | 'skipped'
  | 'discarded';

const OUTCOMES: Partial<Record<LogKind, AttemptOutcome>> = {
  completed: 'succeeded',
  failed: 'failed',
  dead: 'failed',
  retried: 'retried',
  cancelled: 'cancelled',
  suspended: 'suspended',
  released: 'returned',
  reassigned: 'lost',
  skipped: 'skipped',
  discarded: 'discarded',
};

const JOB_STATES_AT_END: ReadonlyMap<LogKind, string> = new Map<LogKind, string>([
  ['job.succeeded', 'succeeded'],
  ['job.failed', 'failed'],
  ['job.cancelled', 'cancelled'],
]);

/** Stages of a query are named by their tasks: `s2.0` is the first task of stage 2. */
const FRAGMENT_ID = /^s(\d+)\./;

interface Running {
  readonly executor: string;
  readonly since: Instant;
  readonly fence: number | null;
}

interface Span {
  from: Instant;
  to: Instant;
}

export class LeaderMeasures {
  /** From ready to assigned. */
  readonly queueAge: Histogram = new Histogram();
  /** From the start of an attempt to its end or suspension, by executor. */
  readonly run: Histogram = new Histogram('executor');
  readonly commit: Histogram = new Histogram();
  /** How long workers' polls were open. */
  readonly poll: Histogram = new Histogram();
  /** From the first assignment of a stage to its last completion. */
  readonly stage: Histogram = new Histogram();
  readonly jobsEnded: Map<string, number> = new Map(
    [...JOB_STATES_AT_END.values()].map((state) => [state, 0]),
  );
  readonly attempts: Map<AttemptOutcome, number> = new Map(
    Object.values(OUTCOMES).map((outcome) => [outcome, 0]),
  );
  readonly #running: TaskMap<Running> = new TaskMap();
  /** Second attempts beside these. */
  readonly #duplicates: TaskMap<Running> = new TaskMap();
  readonly #stages: Map<JobNo, Map<string, Span>> = new Map();

  /** A term has begun or lost its memory: nothing is known of what runs. */
  forget(): void {
    this.#running.clear();
    this.#duplicates.clear();
    this.#stages.clear();
  }

  /** `executorOf` is asked for tasks that were just assigned, which are in memory. */
  committed(
    rows: NamedBatch,
    tookMs: number,
    executorOf: (event: EventView) => string | null,
  ): void {
    this.commit.observe(tookMs / 1_000);
    const tasks = new CommittedRows(rows);
    for (const event of rows.events) {
      if (event.jobNo === null) continue;
      if (event.taskNo === null) this.#jobEvent(event, event.jobNo);
      else this.#taskEvent(event, event.jobNo, event.taskNo, tasks, executorOf);
    }
  }

  #taskEvent(
    event: EventView,
    jobNo: JobNo,
    taskNo: TaskNo,
    rows: CommittedRows,
    executorOf: (event: EventView) => string | null,
  ): void {
    const { kind } = event;
    // Most of the log.
    if (kind === 'created' || kind === 'queued' || kind === 'started') return;
    if (kind === 'assigned') {
      const queuedAt = rows.find(jobNo, taskNo)?.queuedAt ?? null;
      if (queuedAt !== null) this.queueAge.observe((event.at - queuedAt) / 1_000);
      const executor = executorOf(event);
      if (executor === null) return;
      this.#running.set(jobNo, taskNo, { executor, since: event.at, fence: event.fence });
      if (executor === FRAGMENT_EXECUTOR) this.#stageEvent(event);
      return;
    }
    const outcome = OUTCOMES[kind];
    const running = this.#running.get(jobNo, taskNo);
    if (kind === 'duplicated' && running !== undefined)
      this.#duplicates.set(jobNo, taskNo, { ...running, since: event.at, fence: event.fence });
    // A task that ends without having run, such as a blocked one of a cancelled job, is not an attempt.
    if (outcome === undefined || running === undefined) return;
    const duplicate = this.#duplicates.get(jobNo, taskNo);
    if (duplicate !== undefined) this.#duplicates.delete(jobNo, taskNo);
    // Whichever of the two has ended, the other one goes on, or ends with an event of its own.
    const isSecond = duplicate !== undefined && duplicate.fence === event.fence;
    if (duplicate === undefined) this.#running.delete(jobNo, taskNo);
    else if (!isSecond) this.#running.set(jobNo, taskNo, duplicate);
    this.attempts.set(outcome, (this.attempts.get(outcome) ?? 0) + 1);
    if (outcome === 'discarded') return;
    const startedAt = rows.find(jobNo, taskNo)?.startedAt ?? null;
    const since = startedAt === null || startedAt < running.since ? running.since : startedAt;
    this.run.observe((event.at - since) / 1_000, running.executor);
    if (running.executor === FRAGMENT_EXECUTOR && outcome === 'succeeded') this.#stageEvent(event);
  }

  #stageEvent({ jobNo, taskId, at }: EventView): void {
    const [, stage] = FRAGMENT_ID.exec(taskId ?? '') ?? [];
    if (jobNo === null || stage === undefined) return;
    const stages = this.#stages.get(jobNo) ?? new Map<string, Span>();
    this.#stages.set(jobNo, stages);
    const span = stages.get(stage);
    if (span === undefined) stages.set(stage, { from: at, to: at });
    else span.to = at;
  }

  #jobEvent({ kind }: EventView, job: JobNo): void {
    const state = JOB_STATES_AT_END.get(kind);
    if (state === undefined) return;
    this.jobsEnded.set(state, (this.jobsEnded.get(state) ?? 0) + 1);
    const stages = this.#stages.get(job);
    if (stages === undefined) return;
    for (const { from, to } of stages.values()) this.stage.observe((to - from) / 1_000);
    this.#stages.delete(job);
  }
}

/** Events come in the order of their rows, mostly: so the next one is found by a look at a few, without an index. */
class CommittedRows {
  readonly #batch: NamedBatch;
  #insert = 0;
  #update = 0;
  #all: TaskMap<TaskRow> | null = null;

  constructor(batch: NamedBatch) {
    this.#batch = batch;
  }

  find(jobNo: JobNo, taskNo: TaskNo): TaskRow | undefined {
    const { taskInserts, taskUpdates } = this.#batch;
    const update = near(taskUpdates, this.#update, jobNo, taskNo);
    if (update !== -1) return taskUpdates[(this.#update = update)];
    const insert = near(taskInserts, this.#insert, jobNo, taskNo);
    if (insert !== -1) return taskInserts[(this.#insert = insert)];
    return (this.#all ??= this.#index()).get(jobNo, taskNo);
  }

  #index(): TaskMap<TaskRow> {
    const all = new TaskMap<TaskRow>();
    for (const row of this.#batch.taskInserts) all.set(row.jobNo, row.taskNo, row);
    for (const row of this.#batch.taskUpdates) all.set(row.jobNo, row.taskNo, row);
    return all;
  }
}

/** So many rows are looked at, from the one that was found last. */
const LOOKED_AT = 4;

/** Where the row stands; -1 when it is not near. */
function near(rows: readonly TaskRow[], from: number, jobNo: JobNo, taskNo: TaskNo): number {
  for (let at = from; at < from + LOOKED_AT && at < rows.length; at += 1) {
    const row = rows[at] as TaskRow;
    if (row.jobNo === jobNo && row.taskNo === taskNo) return at;
  }
  return -1;
}
