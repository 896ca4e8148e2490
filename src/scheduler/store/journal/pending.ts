/**
 * Commits that are in the journal and not yet in the tables, merged: of a row that changed several times only the
 * last image is left.
 */
import type {
  Batch,
  EventRow,
  JobId,
  JobNo,
  JobRow,
  KeyRow,
  LimitRow,
  NodeId,
  NodeRow,
  ResultRow,
  ScheduleId,
  ScheduleRow,
  SignalRow,
  StepRow,
  TaskNo,
  TaskRef,
  TaskRow,
  TaskSpecRow,
  TermId,
} from '../../core/index.ts';
import { CHUNK_EVENTS, chunksOf, type EventChunk } from '../event-chunk.ts';
import { badRow } from '../row-checks.ts';
import type { Counters } from '../store.ts';
import { isWholeJob, updatedJob } from './job-change.ts';
import type { Fold } from './port.ts';

export interface PendingTask {
  /** Null when the tables have it. */
  spec: TaskSpecRow | null;
  row: TaskRow | null;
  /** Most tasks have one result at most, and no steps. */
  results: readonly ResultRow[];
  steps: Map<string, StepRow> | null;
  /** Something of it is only known to the tables: the body of a signal, the result of a key. */
  restsOnTables: boolean;
}

export interface PendingJob {
  /** Null when only something that hangs on it changed; what never changes may be unknown (`isWholeJob`), unless it is new. */
  row: JobRow | null;
  isNew: boolean;
  readonly tasks: Map<TaskNo, PendingTask>;
  /** Ended runs; null when there are none. */
  history: TaskRow[] | null;
  /** A run has ended whose row only the tables have. */
  isArchived: boolean;
}

export interface PendingSignal {
  /** Null when the tables have it. */
  readonly row: SignalRow | null;
  readonly isTaken: boolean;
}

export class Pending {
  readonly #jobs: Map<JobNo, PendingJob> = new Map();
  readonly #jobNos: Map<JobId, JobNo> = new Map();
  readonly #jobIdsByKey: Map<string, JobId> = new Map();
  readonly #keys: Map<string, KeyRow | null> = new Map();
  readonly #nodes: Map<NodeId, NodeRow | null> = new Map();
  readonly #schedules: Map<ScheduleId, ScheduleRow | null> = new Map();
  readonly #limits: Map<string, LimitRow | null> = new Map();
  readonly #archived: TaskRef[] = [];
  readonly #copied: Batch['copiedResults'][number][] = [];
  readonly #copiedScopes: Set<string> = new Set();
  readonly #signals: Map<string, PendingSignal> = new Map();
  readonly #taken: Batch['takenSignals'][number][] = [];
  readonly #takenSteps: Set<string> = new Set();
  readonly #inboxDeletes: number[] = [];
  readonly #events: EventRow[] = [];
  readonly #chunks: EventChunk[] = [];
  readonly #after: number;
  #last: Counters | null = null;
  #term: TermId | null = null;
  #rows = 0;
  #chars = 0;

  constructor(after: number) {
    this.#after = after;
  }

  /** The last commit before these. */
  get after(): number {
    return this.#after;
  }

  get isEmpty(): boolean {
    return this.#last === null;
  }

  /** The number of the last commit in here, or of the one before. */
  get commitNo(): number {
    return this.#last?.commitNo ?? this.#after;
  }

  /** How much there is to write: rows that were taken in. */
  get rows(): number {
    return this.#rows;
  }

  /** How much memory it holds, about: the length of its records. */
  get chars(): number {
    return this.#chars;
  }

  get events(): readonly EventRow[] {
    return this.#events;
  }

  get signals(): ReadonlyMap<string, PendingSignal> {
    return this.#signals;
  }

  job(no: JobNo): PendingJob | undefined {
    return this.#jobs.get(no);
  }

  task({ jobNo, taskNo }: TaskRef): PendingTask | undefined {
    return this.#jobs.get(jobNo)?.tasks.get(taskNo);
  }

  jobNoOf(id: JobId): JobNo | undefined {
    return this.#jobNos.get(id);
  }

  jobIdForKey(key: string): JobId | undefined {
    return this.#jobIdsByKey.get(key);
  }

  /** Null when it was deleted. */
  key(scope: string): KeyRow | null | undefined {
    return this.#keys.get(scope);
  }

  /**
   * False when the batch cannot be merged with what is here: this has to be folded first.
   *
   * @param chars the length of its record.
   */
  add(
    term: TermId,
    batch: Batch,
    chars: number,
    chunks: readonly EventChunk[] = chunksOf(batch.events),
  ): boolean {
    if (this.#isInTheWay(batch)) return false;
    if (batch.commitNo !== this.commitNo + 1) {
      throw badRow(`commit ${batch.commitNo}`, `the journal is at ${this.commitNo}`);
    }
    this.#addJobs(batch);
    this.#addPayloads(batch);
    this.#addSignals(batch);
    for (const row of batch.nodeUpserts) this.#nodes.set(row.id, row);
    for (const id of batch.nodeDeletes) this.#nodes.set(id, null);
    for (const row of batch.scheduleUpserts) this.#schedules.set(row.id, row);
    for (const id of batch.scheduleDeletes) this.#schedules.set(id, null);
    for (const row of batch.limitUpserts) this.#limits.set(row.id, row);
    for (const id of batch.limitDeletes) this.#limits.set(id, null);
    for (const no of batch.inboxDeletes) this.#inboxDeletes.push(no);
    for (const event of batch.events) this.#events.push(event);
    this.#chunks.push(...chunks);
    const { commitNo, lastSeq, nextJobNo } = batch;
    this.#last = { commitNo, lastSeq, nextJobNo };
    this.#term = term;
    this.#rows += rowsIn(batch);
    this.#chars += chars;
    return true;
  }

  /**
   * Within a batch keys are written before results are copied from them, and steps before signals are taken. A later
   * batch that changes such a key, or writes a step that a signal has become, must stay behind the earlier one.
   */
  #isInTheWay(batch: Batch): boolean {
    if (this.#copiedScopes.size > 0) {
      for (const { scope } of batch.keyUpserts) if (this.#copiedScopes.has(scope)) return true;
      for (const scope of batch.keyDeletes) if (this.#copiedScopes.has(scope)) return true;
    }
    return this.#takenSteps.size > 0 && batch.steps.some((row) => this.#takenSteps.has(keyOf(row)));
  }

  #addJobs(batch: Batch): void {
    for (const ref of batch.archived) {
      const row = this.task(ref)?.row;
      const job = this.#jobOf(ref.jobNo);
      if (row) {
        (job.history ??= []).push(row);
        continue;
      }
      job.isArchived = true;
      this.#archived.push(ref);
    }
    for (const row of batch.jobInserts) {
      this.#jobs.set(row.no, newJob(row));
      this.#jobNos.set(row.id, row.no);
      if (row.idempotencyKey !== null) this.#jobIdsByKey.set(row.idempotencyKey, row.id);
    }
    for (const row of batch.jobUpdates) {
      const job = this.#jobOf(row.no);
      job.row = job.row === null ? row : updatedJob(job.row, row);
      if (isWholeJob(job.row)) this.#jobNos.set(job.row.id, row.no);
    }
    for (const spec of batch.specInserts) this.#taskOf(spec).spec = spec;
    for (const row of batch.taskInserts) this.#taskOf(row).row = row;
    for (const row of batch.taskUpdates) this.#taskOf(row).row = row;
  }

  #addPayloads(batch: Batch): void {
    for (const row of batch.results) this.#addResult(row);
    for (const row of batch.keyUpserts) this.#keys.set(row.scope, row);
    for (const scope of batch.keyDeletes) this.#keys.set(scope, null);
    for (const row of batch.copiedResults) this.#copy(row);
    for (const row of batch.steps) {
      const steps = (this.#taskOf(row).steps ??= new Map());
      const key = `${row.run}/${row.name}`;
      // The first one of a name stays.
      if (!steps.has(key)) steps.set(key, row);
    }
  }

  #copy(row: Batch['copiedResults'][number]): void {
    const key = this.#keys.get(row.scope);
    const task = this.#taskOf(row);
    if (key === undefined) {
      this.#copied.push(row);
      this.#copiedScopes.add(row.scope);
      task.restsOnTables = true;
    } else if (key !== null && key.result !== null) {
      const { jobNo, taskNo, run } = row;
      this.#addResult({ jobNo, taskNo, run, body: key.result });
    }
  }

  #addResult(row: ResultRow): void {
    const task = this.#taskOf(row);
    task.results = [...task.results, row];
  }

  #addSignals({ signalInserts, takenSignals }: Batch): void {
    for (const row of signalInserts) {
      this.#jobOf(row.jobNo);
      this.#signals.set(signalKey(row.jobNo, row.no), { row, isTaken: row.taken });
    }
    for (const row of takenSignals) {
      this.#taken.push(row);
      this.#takenSteps.add(keyOf({ ...row, name: row.step }));
      this.#taskOf(row).restsOnTables = true;
      const key = signalKey(row.jobNo, row.signalNo);
      this.#signals.set(key, { row: this.#signals.get(key)?.row ?? null, isTaken: true });
    }
  }

  #jobOf(no: JobNo): PendingJob {
    let job = this.#jobs.get(no);
    if (job === undefined) this.#jobs.set(no, (job = { ...newJob(null), isNew: false }));
    return job;
  }

  #taskOf({ jobNo, taskNo }: TaskRef): PendingTask {
    const { tasks } = this.#jobOf(jobNo);
    let task = tasks.get(taskNo);
    if (task === undefined) {
      task = { spec: null, row: null, results: [], steps: null, restsOnTables: false };
      tasks.set(taskNo, task);
    }
    return task;
  }

  /** All of it as one change of the tables. */
  fold(): Fold {
    if (this.#last === null || this.#term === null) throw new Error('there is nothing to fold');
    const { history, ...lists } = this.#jobLists();
    return {
      after: this.#after,
      term: this.#term,
      history,
      chunks: this.#chunksWorthKeeping(),
      batch: {
        ...this.#last,
        ...lists,
        archived: this.#archived,
        keyUpserts: valuesIn(this.#keys),
        keyDeletes: removedIn(this.#keys),
        copiedResults: this.#copied,
        signalInserts: [...this.#signals.values()].flatMap(({ row }) => row ?? []),
        takenSignals: this.#taken,
        nodeUpserts: valuesIn(this.#nodes),
        nodeDeletes: removedIn(this.#nodes),
        scheduleUpserts: valuesIn(this.#schedules),
        scheduleDeletes: removedIn(this.#schedules),
        limitUpserts: valuesIn(this.#limits),
        limitDeletes: removedIn(this.#limits),
        inboxDeletes: this.#inboxDeletes,
        events: this.#events,
      },
    };
  }

  /** Chunks of many small commits are put together: each is a row, and is looked at by whoever reads the log. */
  #chunksWorthKeeping(): readonly EventChunk[] {
    const isLarge = this.#events.length >= this.#chunks.length * (CHUNK_EVENTS / 4);
    return isLarge ? this.#chunks : chunksOf(this.#events);
  }

  #jobLists(): JobLists {
    const jobInserts: JobRow[] = [];
    const jobUpdates: JobRow[] = [];
    const specInserts: TaskSpecRow[] = [];
    const taskInserts: TaskRow[] = [];
    const taskUpdates: TaskRow[] = [];
    const results: ResultRow[] = [];
    const steps: StepRow[] = [];
    const ended: TaskRow[] = [];
    for (const { row, isNew, tasks, history } of this.#jobs.values()) {
      if (row !== null) (isNew ? jobInserts : jobUpdates).push(row);
      if (history !== null) ended.push(...history);
      for (const task of tasks.values()) {
        if (task.spec !== null) specInserts.push(task.spec);
        if (task.row !== null) (task.spec === null ? taskUpdates : taskInserts).push(task.row);
        for (const result of task.results) results.push(result);
        if (task.steps !== null) steps.push(...task.steps.values());
      }
    }
    const jobs = { jobInserts, jobUpdates, specInserts, taskInserts, taskUpdates };
    return { ...jobs, results, steps, history: ended };
  }
}

type JobLists = Pick<Fold, 'history'> &
  Pick<
    Batch,
    | 'jobInserts'
    | 'jobUpdates'
    | 'specInserts'
    | 'taskInserts'
    | 'taskUpdates'
    | 'results'
    | 'steps'
  >;

const newJob = (row: JobRow | null): PendingJob => ({
  ...{ row, isNew: true, tasks: new Map(), history: null, isArchived: false },
});

export function signalKey(jobNo: JobNo, no: number): string {
  return `${jobNo}/${no}`;
}

function keyOf({ jobNo, taskNo, run, name }: Omit<StepRow, 'body'>): string {
  return `${jobNo}/${taskNo}/${run}/${name}`;
}

/** Events are not counted: hundreds of them become one row. */
function rowsIn(batch: Batch): number {
  let rows = -batch.events.length;
  for (const list of Object.values(batch)) if (Array.isArray(list)) rows += list.length;
  return rows;
}

function valuesIn<V>(map: ReadonlyMap<unknown, V | null>): V[] {
  return [...map.values()].filter((row) => row !== null);
}

function removedIn<K>(map: ReadonlyMap<K, unknown>): K[] {
  return [...map].filter(([, value]) => value === null).map(([key]) => key);
}
