/**
 * Commits that are in the journal and not yet in the tables, merged: of a row that changed several times only the
 * last image is left.
 */
import { PagedMap } from '../../core/index.ts';
import type {
  Batch,
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
  TaskRef,
  TaskSpecRow,
  TermId,
} from '../../core/index.ts';
import { chunksOf, type EventChunk } from '../event-chunk.ts';
import { badRow } from '../row-checks.ts';
import type { Counters } from '../store.ts';
import { isWholeJob, updatedJob } from './job-change.ts';
import {
  isDeferrable,
  listsOf,
  newJob,
  type PendingJob,
  type PendingSignal,
  type PendingTask,
  signalKey,
  stepKey,
} from './pending-job.ts';
import { PendingEvents } from './pending-events.ts';
import type { Fold } from './port.ts';

/** A job that still goes on when the tables have followed this often and this long is written as it is. */
const DEFERRED_MS = 2_000;
/** A new leader has to fold them before it can begin. */
const DEFERRED_MAX = 30_000;

const NONE: readonly ResultRow[] = [];

export class Pending {
  readonly #jobs: PagedMap<JobNo, PendingJob> = new PagedMap();
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
  readonly events: PendingEvents = new PendingEvents();
  readonly #after: number;
  /** Jobs that the next layer has as well, and that are folded with it. */
  readonly #deferred: PagedMap<JobNo, true> = new PagedMap();
  #settledBefore: number;
  #settledNo: number | null = null;
  #logFrom: number | null = null;
  #last: Counters | null = null;
  #term: TermId | null = null;
  #rows = 0;
  #chars = 0;

  constructor(after: number) {
    this.#after = after;
    this.#settledBefore = after;
  }

  /** The last commit before these. */
  get after(): number {
    return this.#after;
  }

  get isEmpty(): boolean {
    return this.#last === null;
  }

  /** All that came up to this commit is in the tables, or in layers before this one. */
  get settledBefore(): number {
    return this.#settledBefore;
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

  /** Null for one that is gone. */
  get nodes(): ReadonlyMap<NodeId, NodeRow | null> {
    return this.#nodes;
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
    this.events.add(batch.events, chunks);
    const { commitNo, lastSeq, nextJobNo } = batch;
    this.#logFrom ??= lastSeq - batch.events.length;
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
    return (
      this.#takenSteps.size > 0 && batch.steps.some((row) => this.#takenSteps.has(stepKey(row)))
    );
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
      this.#jobs.set(row.no, newJob(row, batch.commitNo));
      this.#jobNos.set(row.id, row.no);
      if (row.idempotencyKey !== null) this.#jobIdsByKey.set(row.idempotencyKey, row.id);
    }
    for (const row of batch.jobUpdates) {
      const job = this.#jobOf(row.no);
      job.row = job.row === null ? row : updatedJob(job.row, row);
      if (isWholeJob(job.row)) this.#jobNos.set(job.row.id, row.no);
    }
    this.#addTasks(batch);
    for (const row of batch.taskUpdates) this.#taskOf(row).row = row;
  }

  /** Specs and rows mostly come in the same order: each pair is looked for once. */
  #addTasks({ specInserts, taskInserts }: Batch): void {
    let isPaired = specInserts.length === taskInserts.length;
    for (let at = 0; at < specInserts.length; at += 1) {
      const spec = specInserts[at] as TaskSpecRow;
      const row = taskInserts[at];
      const task = this.#taskOf(spec);
      task.spec = spec;
      if (row?.jobNo === spec.jobNo && row.taskNo === spec.taskNo) task.row = row;
      else isPaired = false;
    }
    if (!isPaired) for (const row of taskInserts) this.#taskOf(row).row = row;
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
    task.results = task.results.length === 0 ? [row] : [...task.results, row];
  }

  #addSignals({ signalInserts, takenSignals }: Batch): void {
    for (const row of signalInserts) {
      this.#jobOf(row.jobNo);
      this.#signals.set(signalKey(row.jobNo, row.no), { row, isTaken: row.taken });
    }
    for (const row of takenSignals) {
      this.#taken.push(row);
      this.#takenSteps.add(stepKey({ ...row, name: row.step }));
      this.#taskOf(row).restsOnTables = true;
      const key = signalKey(row.jobNo, row.signalNo);
      this.#signals.set(key, { row: this.#signals.get(key)?.row ?? null, isTaken: true });
    }
  }

  #jobOf(no: JobNo): PendingJob {
    let job = this.#jobs.get(no);
    if (job === undefined) this.#jobs.set(no, (job = newJob(null, 0)));
    return job;
  }

  #taskOf({ jobNo, taskNo }: TaskRef): PendingTask {
    const { tasks } = this.#jobOf(jobNo);
    let task = tasks.get(taskNo);
    if (task === undefined) {
      task = { spec: null, row: null, results: NONE, steps: null, restsOnTables: false };
      tasks.add(taskNo, task);
    }
    return task;
  }

  /**
   * The layer for the commits after these. Jobs of one task that began here and go on are left to it, for a while: most of
   * them end soon, and are written once then instead of twice. Both layers have them, so that whoever is reading finds them.
   *
   * @param nowMs null when all of this is to be folded.
   */
  next(nowMs: number | null): Pending {
    const next = new Pending(this.commitNo);
    if (nowMs === null) return next;
    const signalled = new Set([...this.#signals.values()].map(({ row }) => row?.jobNo));
    for (const job of this.#jobs.values()) {
      if (!isDeferrable(job) || signalled.has(job.row.no)) continue;
      job.deferredUntilMs ??= nowMs + DEFERRED_MS;
      if (nowMs >= job.deferredUntilMs || this.#deferred.size === DEFERRED_MAX) continue;
      this.#deferred.set(job.row.no, true);
      next.#take(job, job.row);
      next.#settledBefore = Math.min(next.#settledBefore, job.insertedIn - 1);
    }
    if (this.#deferred.size === 0) return next;
    this.#settledNo = next.#settledBefore;
    next.#follow(this);
    return next;
  }

  /** The layer that has the jobs of this one, which is what folds up to here have left out, and nothing else of it. */
  rest(): Pending {
    const rest = new Pending(this.commitNo);
    for (const job of this.#jobs.values()) if (job.row !== null) rest.#take(job, job.row);
    rest.#settledBefore = this.#after;
    rest.#follow(this);
    return rest;
  }

  #take(job: PendingJob, { no, id, idempotencyKey }: JobRow): void {
    this.#jobs.set(no, job);
    this.#jobNos.set(id, no);
    if (idempotencyKey !== null) this.#jobIdsByKey.set(idempotencyKey, id);
  }

  /** Without a commit of its own it ends where the other one does. */
  #follow(before: Pending): void {
    this.#last = before.#last;
    this.#term = before.#term;
    this.#logFrom = before.#logFrom;
  }

  /** All of it, except what is left to the next layer, as one change of the tables. */
  fold(): Fold {
    if (this.#last === null || this.#term === null) throw new Error('there is nothing to fold');
    const { history, ...lists } = listsOf(this.#jobs, this.#deferred);
    const { events } = this;
    return {
      after: this.#after,
      settledBefore: this.#settledBefore,
      settledNo: this.#settledNo ?? this.#last.commitNo,
      logFrom: this.#logFrom ?? this.#last.lastSeq,
      term: this.#term,
      history,
      chunks: events.chunks(),
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
        // Tables that have chunks do not ask for the rows.
        get events() {
          return events.all();
        },
      },
    };
  }
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
