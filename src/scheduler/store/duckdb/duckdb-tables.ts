/** The tables of a DuckDB file and its journal. One connection writes, another one reads. */
import {
  type Batch,
  type DeclarationKind,
  type DeclarationRow,
  type Instant,
  isMillraceError,
  type JobId,
  type JobNo,
  type JobRow,
  type KeyRow,
  type ScheduleRow,
  type StepRow,
  type TaskId,
  type TaskRef,
  type TaskRow,
  type TermId,
} from '../../core/index.ts';
import type {
  Fold,
  JournalRecord,
  Alone,
  Appended,
  JournalState,
  JournalTables,
} from '../journal/port.ts';
import { pastRetention, rewound } from '../refusals.ts';
import type {
  Campaign,
  Candidacy,
  ClusterImage,
  Counters,
  DeadFilter,
  DeadTask,
  Dumped,
  EventView,
  InboxRow,
  JobCounts,
  JobFilter,
  JobImage,
  JobPortion,
  JobView,
  LeaderInfo,
  LogHead,
  NodeView,
  Pruned,
  Pruning,
  TaskView,
  Term,
} from '../store.ts';
import { applyDeclarations } from './apply.ts';
import { foldCommits } from './fold.ts';
import { unavailable } from './failure.ts';
import { nameHash } from './hash-index.ts';
import { busyJobs, imagesOf, type KeysOf, portion } from './images.ts';
import { selectKeys } from './keys.ts';
import type { Journal } from './journal.ts';
import { campaign, termEnd } from './leadership.ts';
import { listEvents } from './log.ts';
import * as listings from './listings.ts';
import { prune } from './prune.ts';
import { type Session } from './session.ts';
import type { Shards } from './shards.ts';
import type { StoreFile } from './store-file.ts';
import { checkCompleted, checkStored, needsLookUp } from './stored-checks.ts';
import { DuckdbTaskLog } from './task-log.ts';
import { inTransaction } from './transaction.ts';
import { dumpStore, fillStore } from './transfer.ts';
import * as views from './views.ts';

type LogPage = Parameters<JournalTables['events']>;
type DeclarationsChanged = Parameters<JournalTables['changeDeclarations']>;

export class DuckdbTables implements JournalTables {
  readonly kind = 'duckdb';
  readonly clustered = false;
  readonly taskLog: DuckdbTaskLog;
  readonly #file: StoreFile;
  readonly #shards: Shards;
  readonly #journal: Journal;
  readonly #now: () => Instant;
  /** A COMMIT failed, so what is known by heart may be wrong. */
  #doubt = false;

  constructor(file: StoreFile, shards: Shards, journal: Journal, now: () => Instant) {
    this.#file = file;
    this.#shards = shards;
    this.#journal = journal;
    this.#now = now;
    this.taskLog = new DuckdbTaskLog((use) => file.apart(use), now);
  }

  async campaign(candidacy: Candidacy): Promise<Campaign> {
    return this.#write((session) =>
      // An earlier leader's commit is in the journal before the new term begins, or refused.
      this.#journal.exclusively(async () => {
        await this.#journal.settleDoubt();
        const head = this.#head(candidacy.shard);
        return campaign(session, this.#shards, candidacy, { head, now: this.#now() });
      }),
    );
  }

  #head(shard: number): Counters {
    return this.#journal.head(this.#shards.get(shard));
  }

  async renew(term: Term, ttlMs: number, commitNo: number): Promise<Instant> {
    return this.#write(async () => {
      const shard = this.#shards.led(term);
      const head = this.#head(shard.no).commitNo;
      if (head < commitNo) throw rewound(term, commitNo, head);
      return this.#shards.extend(shard, ttlMs, this.#now());
    });
  }

  async resign(term: Term): Promise<void> {
    await this.#write(async () => this.#shards.release(term));
  }

  async leader(shard: number): Promise<LeaderInfo | null> {
    return this.#shards.get(shard).leader;
  }

  async termEnd(shard: number, term: TermId): Promise<Counters | null> {
    // On the writing side, where no commit comes between the terms and the counters.
    return this.#write((session) => termEnd(session, shard, term, this.#head(shard)));
  }

  async #check(shard: number, unproven: Batch): Promise<void> {
    const scopes = unproven.copiedResults.map(({ scope }) => scope);
    if (scopes.length > 0) checkCompleted(scopes, await this.#keysOf(shard)(scopes));
    if (!needsLookUp(this.#shards, unproven)) return;
    await this.#read((session) => checkStored({ session, shards: this.#shards, shard }, unproven));
  }

  /**
   * Beside the writer: a commit does not wait for a fold. The fence is checked in memory: commits come one after
   * another, and no other process can write to the files.
   */
  async append(...[term, ttlMs, record, unproven]: Appended): Promise<Instant> {
    if (unproven !== null) await this.#check(term.shard, unproven);
    const repaired = this.#file.repaired;
    if (repaired !== null) await repaired;
    return this.#journal.exclusively(async () => {
      // Throws when it is closed, or has to be opened again.
      void this.#file.opened;
      const shard = this.#shards.led(term);
      const last = record.commitNo - 1;
      const head = this.#head(shard.no).commitNo;
      if (head !== last) throw rewound(term, last, head);
      if (shard.commitNo < record.foldedNo) throw rewound(term, record.foldedNo, shard.commitNo);
      const { commitNo, lastSeq, nextJobNo, body } = record;
      const line = { shard: shard.no, term: term.id, commitNo, lastSeq, nextJobNo, body };
      await this.#journal.append(line);
      return this.#shards.extend(this.#shards.get(shard.no), ttlMs, this.#now());
    });
  }

  async fold(shardNo: number, fold: Fold): Promise<boolean> {
    return this.#write(async (session) => {
      const isLast = this.#journal.find(shardNo, fold.batch.commitNo)?.term === fold.term;
      if (!isLast || !(await foldCommits(session, this.#shards, shardNo, fold))) return false;
      await this.#journal.trim();
      return true;
    }).catch((error: unknown) => {
      // The journal has the commits, so there is no doubt about these.
      throw isMillraceError(error, 'outcome_unknown') ? unavailable(error.cause) : error;
    });
  }

  async shardsBehind(): Promise<readonly number[]> {
    return this.#journal.shards;
  }

  async journalState(shard: number): Promise<JournalState> {
    const { leader, commitNo: foldedNo, settledNo } = this.#shards.get(shard);
    return { term: leader?.term ?? null, head: this.#head(shard), foldedNo, settledNo };
  }

  async journal(shard: number, after: number, limit: number): Promise<readonly JournalRecord[]> {
    return this.#journal.oldest(shard, after, limit);
  }

  async storedJobs(shard: number, numbers: readonly JobNo[]): Promise<ReadonlySet<JobNo>> {
    return this.#read((session) => listings.storedJobs(session, shard, numbers));
  }

  async prune(term: Term, retention: Pruning, alone: Alone): Promise<Pruned> {
    const act = (session: Session): Promise<Pruned> =>
      prune(session, this.#shards, { term, retention, now: this.#now() });
    return alone(() => this.#write(act));
  }

  async changeDeclarations(...[term, kind, change]: DeclarationsChanged): Promise<void> {
    return this.#write((session) => {
      const shard = this.#shards.led(term);
      return inTransaction(session, () => applyDeclarations(session, shard.no, kind, change));
    });
  }

  async loadCluster(shard: number): Promise<ClusterImage> {
    return this.#read(async (session) => {
      const { commitNo, lastSeq, nextJobNo } = this.#shards.get(shard);
      const declared = await listings.clusterRows(session, shard);
      return { now: this.#now(), commitNo, lastSeq, nextJobNo, ...declared };
    });
  }

  async loadBusyJobs(shard: number): Promise<readonly JobImage[]> {
    return this.#read((session) => busyJobs(session, shard, this.#keysOf(shard)));
  }

  async loadJobs(shard: number, priority: number, from: JobNo, limit: number): Promise<JobPortion> {
    const wanted = { priority, from, limit };
    return this.#read((session) => portion(session, shard, wanted, this.#keysOf(shard)));
  }

  async loadJob(shard: number, id: JobId): Promise<JobImage | null> {
    return this.#ofJob(shard, id, async (session, job) => {
      const [image] = await imagesOf(session, shard, [job], this.#keysOf(shard));
      return image ?? null;
    });
  }

  async inputs(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>> {
    return this.#read((session) => views.payloads(session, 'input', shard, refs));
  }

  async results(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, string>> {
    return this.#read((session) => views.payloads(session, 'result', shard, refs));
  }

  async steps(shard: number, ref: TaskRef, run: number): Promise<readonly StepRow[]> {
    return this.#read((session) => views.stepsOf(session, shard, ref, run));
  }

  async keys(shard: number, scopes: readonly string[]): Promise<readonly KeyRow[]> {
    await this.#file.repaired;
    return this.#keysOf(shard)(scopes);
  }

  async jobIdForKey(shard: number, idempotencyKey: string): Promise<JobId | null> {
    const numbers = this.#shards.jobKeys.find(nameHash(idempotencyKey));
    if (numbers.length === 0) return null;
    return this.#read((session) => views.jobIdByKey(session, shard, idempotencyKey, numbers));
  }

  async taskRows(shard: number, refs: readonly TaskRef[]): Promise<ReadonlyMap<string, TaskRow>> {
    return this.#read((session) => views.taskRows(session, shard, refs));
  }

  async task(shard: number, id: JobId, taskId: TaskId): Promise<TaskView | null> {
    return this.#ofJob(shard, id, (session, job) => views.taskView(session, shard, job, taskId));
  }

  async jobRow(shard: number, id: JobId): Promise<JobRow | null> {
    return this.#ofJob(shard, id, async (_, job) => job);
  }

  async takenIds(shard: number, ids: readonly JobId[]): Promise<ReadonlySet<JobId>> {
    // Nearly all are new, and the hashes of names are in memory.
    const rows = ids.map((id) => this.jobRow(shard, id));
    return new Set((await Promise.all(rows)).flatMap((row) => row?.id ?? []));
  }

  async job(shard: number, id: JobId): Promise<JobView | null> {
    return this.#ofJob(shard, id, (session, job) => views.jobView(session, shard, job));
  }

  async jobs(shard: number, filter: JobFilter): Promise<readonly JobRow[]> {
    return this.#read((session) => views.listJobs(session, shard, filter));
  }

  async countJobs(shard: number, newest: number): Promise<JobCounts> {
    return this.#read((session) => listings.countJobs(session, shard, newest));
  }

  async events(...[shard, after, limit, jobId]: LogPage): Promise<readonly EventView[]> {
    const refuseIfPast = (): void => {
      const { firstSeq } = this.#shards.get(shard);
      if (after + 1 < firstSeq) throw pastRetention(after, firstSeq);
    };
    refuseIfPast();
    const list = (session: Session, jobNo: JobNo | null): Promise<EventView[]> =>
      listEvents(session, shard, { after, limit, jobNo });
    const found =
      jobId === undefined
        ? await this.#read((session) => list(session, null))
        : await this.#ofJob(shard, jobId, (session, job) => list(session, job.no));
    // Again, for a prune may have come between.
    refuseIfPast();
    return found ?? [];
  }

  async lastSeq(shard: number): Promise<LogHead> {
    const { lastSeq: seq, firstSeq, term } = this.#shards.get(shard);
    return { seq, firstSeq, term, at: this.#now() };
  }

  async nodes(shard: number): Promise<readonly NodeView[]> {
    return this.#read((session) => listings.nodeViews(session, shard));
  }

  async declarations(shard: number, kind: DeclarationKind): Promise<readonly DeclarationRow[]> {
    return this.#read((session) => listings.declarations(session, shard, kind));
  }

  async schedules(shard: number): Promise<readonly ScheduleRow[]> {
    return this.#read((session) => listings.schedules(session, shard));
  }

  async deadTasks(shard: number, filter: DeadFilter): Promise<readonly DeadTask[]> {
    return this.#read((session) => listings.deadTasks(session, shard, filter));
  }

  async inbox(shard: number, limit: number): Promise<readonly InboxRow[]> {
    return this.#read((session) => listings.inboxRows(session, shard, limit));
  }

  async *dump(): AsyncIterable<Dumped> {
    await this.#file.repaired;
    const session = await this.#file.opened.connect();
    try {
      yield* dumpStore(session);
    } finally {
      session.close();
    }
  }

  async fill(rows: AsyncIterable<Dumped>): Promise<number> {
    return this.#write((session) => fillStore(session, this.#shards, rows));
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await this.taskLog.settled();
    // Before the lock of the file is given up: then the journal may be another process's.
    try {
      await this.#journal.close();
    } finally {
      await this.#file.close();
    }
  }

  /** On the writing side: a key's row moves with each write, and here no write comes between. */
  #keysOf(shard: number): KeysOf {
    return (scopes) => {
      const { writer } = this.#file.opened;
      return writer.exclusively(() => selectKeys(writer, this.#shards, shard, scopes));
    };
  }

  async #write<T>(change: (session: Session) => Promise<T>): Promise<T> {
    const repaired = this.#file.repaired;
    if (repaired !== null) await repaired;
    const { writer } = this.#file.opened;
    return writer.exclusively(async () => {
      try {
        if (this.#doubt) await this.#shards.load(writer);
        this.#doubt = false;
        return await change(writer);
      } catch (cause) {
        if (isMillraceError(cause, 'outcome_unknown')) this.#doubt = true;
        throw this.#file.failed(cause);
      }
    });
  }

  /** In a transaction, so that what several statements see belongs together. */
  async #read<T>(read: (session: Session) => Promise<T>): Promise<T> {
    const repaired = this.#file.repaired;
    if (repaired !== null) await repaired;
    const { reader } = this.#file.opened;
    return reader.exclusively(async () => {
      try {
        await reader.run('begin');
        const answer = await read(reader);
        await reader.run('commit');
        return answer;
      } catch (cause) {
        await reader.run('rollback').catch(() => {});
        throw this.#file.failed(cause);
      }
    });
  }

  async #ofJob<T>(
    shard: number,
    id: JobId,
    read: (session: Session, job: JobRow) => Promise<T>,
  ): Promise<T | null> {
    const numbers = this.#shards.jobs.find(nameHash(id));
    if (numbers.length === 0) return null;
    return this.#read(async (session) => {
      const job = await views.jobById(session, shard, id, numbers);
      return job === null ? null : read(session, job);
    });
  }
}
