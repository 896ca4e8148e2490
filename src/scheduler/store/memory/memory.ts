/**
 * The store of tests and of the simulator: plain maps, no I/O, and no time but the clock it is
 * given, so that the same calls always give the same answers. Several leaders may share one; each
 * call runs in one turn, which makes it a transaction. Rows are kept as they come, not copied.
 */
import type {
  Batch,
  Instant,
  JobId,
  JobNo,
  JobRow,
  KeyRow,
  DeclarationKind,
  DeclarationRow,
  ScheduleRow,
  StepRow,
  TaskId,
  TaskRef,
  TaskRow,
  TermId,
} from '../../core/index.ts';
import type {
  Fold,
  JournalRecord,
  Alone,
  Appended,
  JournalState,
  JournalTables,
} from '../journal/port.ts';
import { deposed, notEmpty, pastRetention, rewound } from '../refusals.ts';
import {
  type Campaign,
  type Candidacy,
  type ClusterImage,
  type Counters,
  type DeadFilter,
  type DeadTask,
  type Dumped,
  type EventView,
  type InboxRow,
  type JobCounts,
  type JobFilter,
  type JobImage,
  type JobPortion,
  type JobView,
  type LeaderInfo,
  type LogHead,
  type NodeView,
  type DeclarationChange,
  type Pruned,
  type Pruning,
  refKey,
  type Store,
  type TaskView,
  type Term,
} from '../store.ts';
import { applyBatch } from './apply.ts';
import { checkStored } from './stored-checks.ts';
import { appendRecord, foldRecords, headOf, recordsAfter, stateOf } from './journal.ts';
import {
  busyJobs,
  imageOf,
  jobView,
  listEvents,
  listJobs,
  payloads,
  portion,
  taskView,
} from './images.ts';
import { pruneShard } from './prune.ts';
import {
  emptyShard,
  isEmpty,
  expired,
  firstSeq,
  infoOf,
  isTermOf,
  type JobRecord,
  type Shard,
  until,
} from './shard.ts';
import { MemoryTaskLog } from './task-log.ts';
import { dumpShard, Filling } from './transfer.ts';
import { byId, countJobs, deadTasks, nodeViews } from './views.ts';

/** How many terms are remembered; a caller that names an older one must start anew. */
const TERMS_MAX = 1_000;

export interface MemoryOptions {
  /** The database's clock. */
  readonly now: () => Instant;
}

/** A store that can be rewound, as databases are by restores and fail-overs. */
export interface MemoryStore extends Omit<Store, 'prune'>, Omit<JournalTables, 'prune'> {
  prune(term: Term, retention: Pruning, alone?: Alone): Promise<Pruned>;
  /** Takes a copy of all there is. The answer brings the store back to it, any number of times. */
  snapshot(): () => void;
}

export function openMemoryStore(options: MemoryOptions): MemoryStore {
  return new PlainMaps(options.now);
}

class PlainMaps implements MemoryStore {
  readonly kind = 'memory';
  /** The processes of a simulated cluster share this object. */
  readonly clustered = true;
  readonly commitsAtOnce = 4;
  readonly #now: () => Instant;
  #shards: Map<number, Shard> = new Map();
  readonly taskLog: MemoryTaskLog;

  constructor(now: () => Instant) {
    this.#now = now;
    this.taskLog = new MemoryTaskLog(now, (shard, id) => this.#job(shard, id) !== undefined);
  }

  async campaign(candidacy: Candidacy): Promise<Campaign> {
    const shard = this.#shard(candidacy.shard);
    const now = this.#now();
    const held = shard.leaderTerm;
    if (held !== null && !held.released && !expired(held, now)) {
      return { won: false, leader: infoOf(held), now };
    }
    const { nodeId, url, grpc, term, ttlMs } = candidacy;
    const epoch = Math.max(held?.epoch ?? 0, candidacy.above ?? 0) + 1;
    const expiresAt = until(now, ttlMs);
    shard.leaderTerm = { nodeId, url, grpc, epoch, term, expiresAt, released: false };
    shard.terms = [...shard.terms, { term, since: headOf(shard) }].slice(-TERMS_MAX);
    const previous =
      held === null || held.released
        ? null
        : { nodeId: held.nodeId, epoch: held.epoch, isGone: false };
    return { won: true, term: { shard: shard.no, epoch, id: term }, now, previous };
  }

  async renew(term: Term, ttlMs: number, commitNo: number): Promise<Instant> {
    const shard = this.#led(term);
    const head = headOf(shard).commitNo;
    if (head < commitNo) throw rewound(term, commitNo, head);
    return this.#extend(shard, ttlMs);
  }

  async resign(term: Term): Promise<void> {
    const shard = this.#shards.get(term.shard);
    const leaderTerm = shard?.leaderTerm;
    if (shard === undefined || !leaderTerm || !isTermOf(leaderTerm, term)) return;
    shard.leaderTerm = { ...leaderTerm, released: true };
  }

  async leader(shard: number): Promise<LeaderInfo | null> {
    const leaderTerm = this.#shards.get(shard)?.leaderTerm;
    return leaderTerm && !leaderTerm.released ? infoOf(leaderTerm) : null;
  }

  async termEnd(shardNo: number, term: TermId): Promise<Counters | null> {
    const shard = this.#read(shardNo);
    const at = shard.terms.findIndex((each) => each.term === term);
    if (at === -1) return null;
    return shard.terms[at + 1]?.since ?? headOf(shard);
  }

  async commit(term: Term, ttlMs: number, batch: Batch): Promise<Instant> {
    const shard = this.#led(term);
    const last = batch.commitNo - 1;
    if (shard.commitNo !== last) throw rewound(term, last, shard.commitNo);
    applyBatch(shard, batch);
    return this.#extend(shard, ttlMs);
  }

  async changeDeclarations(
    term: Term,
    kind: DeclarationKind,
    { put, removed }: DeclarationChange,
  ): Promise<void> {
    const known = this.#led(term).declarations[kind];
    for (const name of removed) known.delete(name);
    for (const row of put) known.set(row.id, row);
  }

  async append(...[term, ttlMs, record, unproven]: Appended): Promise<Instant> {
    if (unproven !== null) checkStored(this.#read(term.shard), unproven);
    return this.#extend(appendRecord(this.#led(term), term, record), ttlMs);
  }

  async fold(shardNo: number, fold: Fold): Promise<boolean> {
    return foldRecords(this.#shard(shardNo), fold);
  }

  async shardsBehind(): Promise<readonly number[]> {
    return [...this.#shards.values()].flatMap(({ no, journal }) => (journal.length > 0 ? no : []));
  }

  async journalState(shardNo: number): Promise<JournalState> {
    return stateOf(this.#read(shardNo));
  }

  async storedJobs(shard: number, numbers: readonly JobNo[]): Promise<ReadonlySet<JobNo>> {
    return new Set(numbers.filter((no) => this.#read(shard).jobs.has(no)));
  }

  async journal(shard: number, after: number, limit: number): Promise<readonly JournalRecord[]> {
    return recordsAfter(this.#read(shard), after).slice(0, limit);
  }

  async prune(term: Term, retention: Pruning, alone: Alone = (act) => act()): Promise<Pruned> {
    return alone(async () => pruneShard(this.#led(term), retention, this.#now()));
  }

  async loadCluster(shard: number): Promise<ClusterImage> {
    const { nodes, schedules, limits, commitNo, lastSeq, nextJobNo } = this.#read(shard);
    return {
      ...{ now: this.#now(), commitNo, lastSeq, nextJobNo },
      nodes: [...nodes.values()],
      schedules: [...schedules.values()],
      limits: byId([...limits.values()]),
    };
  }

  async loadBusyJobs(shard: number): Promise<readonly JobImage[]> {
    return busyJobs(this.#read(shard));
  }

  async loadJobs(shard: number, priority: number, from: JobNo, limit: number): Promise<JobPortion> {
    return portion(this.#read(shard), priority, from, limit);
  }

  async loadJob(shard: number, id: JobId): Promise<JobImage | null> {
    const job = this.#job(shard, id);
    return job === undefined ? null : imageOf(this.#read(shard), job);
  }

  async inputs(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>> {
    return payloads(this.#read(shard), refs, ({ spec }) => spec.input);
  }

  async results(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>> {
    return payloads(
      this.#read(shard),
      refs,
      ({ task, results }) => results?.get(task?.run ?? -1) ?? null,
    );
  }

  async steps(shard: number, { jobNo, taskNo }: TaskRef, run: number): Promise<readonly StepRow[]> {
    const record = this.#read(shard).jobs.get(jobNo)?.tasks.get(taskNo);
    const named = record?.steps?.get(run) ?? new Map<string, string>();
    return [...named].map(([name, body]) => ({ jobNo, taskNo, run, name, body }));
  }

  async keys(shard: number, scopes: readonly string[]): Promise<readonly KeyRow[]> {
    const { keys } = this.#read(shard);
    return [...new Set(scopes)].flatMap((scope) => keys.get(scope) ?? []);
  }

  async jobIdForKey(shard: number, idempotencyKey: string): Promise<JobId | null> {
    const { jobs, jobNosByKey } = this.#read(shard);
    const no = jobNosByKey.get(idempotencyKey);
    return no === undefined ? null : (jobs.get(no)?.row.id ?? null);
  }

  async taskRows(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, TaskRow>> {
    const rows = new Map<string, TaskRow>();
    for (const { jobNo, taskNo } of refs) {
      const row = this.#read(shard).jobs.get(jobNo)?.tasks.get(taskNo)?.task;
      if (row) rows.set(refKey(jobNo, taskNo), row);
    }
    return rows;
  }

  async task(shard: number, id: JobId, taskId: TaskId): Promise<TaskView | null> {
    const job = this.#job(shard, id);
    const no = job?.taskNos.get(taskId);
    const record = no === undefined ? undefined : job?.tasks.get(no);
    return record === undefined ? null : taskView(record);
  }

  async jobRow(shard: number, id: JobId): Promise<JobRow | null> {
    return this.#job(shard, id)?.row ?? null;
  }

  async takenIds(shard: number, ids: readonly JobId[]): Promise<ReadonlySet<JobId>> {
    return new Set(ids.filter((id) => this.#job(shard, id) !== undefined));
  }

  async job(shard: number, id: JobId): Promise<JobView | null> {
    const job = this.#job(shard, id);
    return job === undefined ? null : jobView(job);
  }

  async jobs(shard: number, filter: JobFilter): Promise<readonly JobRow[]> {
    return listJobs(this.#read(shard), filter);
  }

  async countJobs(shard: number, newest: number): Promise<JobCounts> {
    return countJobs(this.#read(shard), newest);
  }

  async events(
    shardNo: number,
    after: number,
    limit: number,
    jobId?: JobId,
  ): Promise<readonly EventView[]> {
    const shard = this.#read(shardNo);
    const first = firstSeq(shard);
    if (after + 1 < first) throw pastRetention(after, first);
    if (jobId === undefined) return listEvents(shard, after + 1 - first, limit, undefined);
    const no = shard.jobNos.get(jobId);
    return no === undefined ? [] : listEvents(shard, after + 1 - first, limit, no);
  }

  async lastSeq(shardNo: number): Promise<LogHead> {
    const shard = this.#read(shardNo);
    const term = shard.terms.at(-1)?.term ?? null;
    return { seq: shard.lastSeq, firstSeq: firstSeq(shard), term, at: this.#now() };
  }

  async nodes(shard: number): Promise<readonly NodeView[]> {
    return nodeViews(this.#read(shard));
  }

  async declarations(shard: number, kind: DeclarationKind): Promise<readonly DeclarationRow[]> {
    return byId([...this.#read(shard).declarations[kind].values()]);
  }

  async schedules(shard: number): Promise<readonly ScheduleRow[]> {
    return byId([...this.#read(shard).schedules.values()]);
  }

  async deadTasks(shard: number, filter: DeadFilter): Promise<readonly DeadTask[]> {
    return deadTasks(this.#read(shard), filter);
  }

  async inbox(shard: number, limit: number): Promise<readonly InboxRow[]> {
    const rows = [...this.#read(shard).inbox.values()];
    return rows.toSorted((a, b) => a.no - b.no).slice(0, limit);
  }

  async *dump(): AsyncIterable<Dumped> {
    const shards = [...this.#shards.values()].toSorted((a, b) => a.no - b.no);
    // All at once: a dump shows one moment, also when the reader takes its time.
    yield* shards.flatMap((shard) => [...dumpShard(shard)]);
  }

  async fill(rows: AsyncIterable<Dumped>): Promise<number> {
    if (![...this.#shards.values()].every(isEmpty)) throw notEmpty();
    const filling = new Filling();
    for await (const row of rows) filling.take(row);
    filling.finish();
    if (![...this.#shards.values()].every(isEmpty)) throw notEmpty();
    for (const [no, shard] of filling.shards) {
      const before = this.#shards.get(no) ?? emptyShard(no);
      shard.leaderTerm = before.leaderTerm;
      shard.terms = before.terms;
      shard.commitNo = before.commitNo;
    }
    this.#shards = filling.shards;
    return filling.rows;
  }

  snapshot(): () => void {
    const copy = structuredClone(this.#shards);
    return () => void (this.#shards = structuredClone(copy));
  }

  /** The object is shared, so one client that leaves takes nothing away from the others. */
  async close(): Promise<void> {}

  #shard(no: number): Shard {
    const shard = this.#shards.get(no) ?? emptyShard(no);
    this.#shards.set(no, shard);
    return shard;
  }

  /** For reading: a shard without a leader so far is empty, and stays unknown. */
  #read(no: number): Shard {
    return this.#shards.get(no) ?? emptyShard(no);
  }

  #led(term: Term): Shard {
    const shard = this.#shards.get(term.shard);
    if (!shard?.leaderTerm || !isTermOf(shard.leaderTerm, term)) throw deposed(term);
    return shard;
  }

  #extend(shard: Shard, ttlMs: number): Instant {
    const now = this.#now();
    if (shard.leaderTerm !== null)
      shard.leaderTerm = { ...shard.leaderTerm, expiresAt: until(now, ttlMs) };
    return now;
  }

  #job(shardNo: number, id: JobId): JobRecord | undefined {
    const shard = this.#read(shardNo);
    const no = shard.jobNos.get(id);
    return no === undefined ? undefined : shard.jobs.get(no);
  }
}
