/**
 * The store of a single node: a DuckDB file that this process owns. One connection writes, another
 * reads; commits wait for each other. After an answer the batch is in the log on disk.
 */
import {
  type Batch,
  type Instant,
  instant,
  isMillraceError,
  type JobId,
  type JobNo,
  type JobRow,
  type KeyRow,
  type DeclarationKind,
  type DeclarationRow,
  type ScheduleRow,
  type StepRow,
  type TaskId,
  type TaskRef,
  type TaskRow,
  type TermId,
} from '../../core/index.ts';
import { requireCurrent } from '../migrations.ts';
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
  JobFilter,
  JobImage,
  JobPortion,
  JobView,
  LeaderInfo,
  LogHead,
  NodeView,
  DeclarationChange,
  Pruned,
  Retention,
  Store,
  TaskView,
  Term,
} from '../store.ts';
import { STAGED, applyDeclarations } from './apply.ts';
import { commitBatch } from './commit.ts';
import type { OpenedFile } from './file.ts';
import { nameHash } from './hash-index.ts';
import { busyJobs, imagesOf, type KeysOf, portion } from './images.ts';
import { selectKeys } from './keys.ts';
import { campaign, lastTerm, termEnd } from './leadership.ts';
import { migrationsIn } from './ledger.ts';
import { listEvents } from './log.ts';
import * as listings from './listings.ts';
import { prune } from './prune.ts';
import { createStages, selectRows } from './rows.ts';
import { type Session } from './session.ts';
import { Shards } from './shards.ts';
import { StoreFile } from './store-file.ts';
import { INBOX, LIMIT, NODE, SCHEDULE } from './tables.ts';
import { inTransaction } from './transaction.ts';
import { DuckdbTaskLog } from './task-log.ts';
import { dumpStore, fillStore } from './transfer.ts';
import * as views from './views.ts';

export interface DuckdbOptions {
  /** A file, or `:memory:` for a store that ends with the process. */
  readonly path: string;
  /** Brings the tables up to date first; otherwise an older file is refused. Default: true. */
  readonly migrate?: boolean;
  /** How long the log may get before it is folded into the file. Default: 16 MiB. */
  readonly logBytes?: number;
  /** The machine's clock, unless a test has its own. */
  readonly now?: () => Instant;
}

export async function openDuckdbStore(options: DuckdbOptions): Promise<Store> {
  const { path, logBytes, migrate = true, now = () => instant(Date.now()) } = options;
  const shards = new Shards();
  const prepare = async ({ writer }: OpenedFile): Promise<void> => {
    const migrations = migrationsIn(writer);
    requireCurrent(migrate ? await migrations.up() : await migrations.status());
    await createStages(writer, STAGED);
    await shards.load(writer);
  };
  return new DuckdbStore(await StoreFile.open({ path, logBytes, prepare }), shards, now);
}

class DuckdbStore implements Store {
  readonly kind = 'duckdb';
  readonly clustered = false;
  readonly #file: StoreFile;
  readonly #shards: Shards;
  readonly #now: () => Instant;
  readonly taskLog: DuckdbTaskLog;
  /** A COMMIT failed, so what is known by heart may be wrong. */
  #doubt = false;

  constructor(file: StoreFile, shards: Shards, now: () => Instant) {
    this.#file = file;
    this.#shards = shards;
    this.#now = now;
    this.taskLog = new DuckdbTaskLog((use) => this.#apart(use), now);
  }

  async campaign(candidacy: Candidacy): Promise<Campaign> {
    return this.#write((session) => campaign(session, this.#shards, candidacy, this.#now()));
  }

  async renew(term: Term, ttlMs: number, commitNo: number): Promise<Instant> {
    return this.#write(async () => {
      const shard = this.#shards.led(term);
      if (shard.commitNo < commitNo) throw rewound(term, commitNo, shard.commitNo);
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
    return this.#write((session) => {
      const { commitNo, lastSeq, nextJobNo } = this.#shards.get(shard);
      return termEnd(session, shard, term, { commitNo, lastSeq, nextJobNo });
    });
  }

  async commit(term: Term, ttlMs: number, batch: Batch): Promise<Instant> {
    return this.#write((session) =>
      commitBatch(session, this.#shards, { term, ttlMs, batch, now: this.#now() }),
    );
  }

  async prune(term: Term, retention: Retention): Promise<Pruned> {
    return this.#write((session) =>
      prune(session, this.#shards, { term, retention, now: this.#now() }),
    );
  }

  async changeDeclarations(
    term: Term,
    kind: DeclarationKind,
    change: DeclarationChange,
  ): Promise<void> {
    return this.#write((session) => {
      const shard = this.#shards.led(term);
      return inTransaction(session, () => applyDeclarations(session, shard.no, kind, change));
    });
  }

  async loadCluster(shard: number): Promise<ClusterImage> {
    return this.#read(async (session) => {
      const { commitNo, lastSeq, nextJobNo } = this.#shards.get(shard);
      const where = 'where t.shard = $1::integer order by t.id';
      const nodes = await selectRows(session, NODE, where, shard);
      const schedules = await selectRows(session, SCHEDULE, where, shard);
      const limits = await selectRows(session, LIMIT, where, shard);
      return { now: this.#now(), commitNo, lastSeq, nextJobNo, nodes, schedules, limits };
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

  async job(shard: number, id: JobId): Promise<JobView | null> {
    return this.#ofJob(shard, id, (session, job) => views.jobView(session, shard, job));
  }

  async jobs(shard: number, filter: JobFilter): Promise<readonly JobRow[]> {
    return this.#read((session) => views.listJobs(session, shard, filter));
  }

  async events(
    shard: number,
    after: number,
    limit: number,
    jobId?: JobId,
  ): Promise<readonly EventView[]> {
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
    return this.#read(async (session) => {
      const term = await lastTerm(session, shard);
      const { lastSeq: seq, firstSeq } = this.#shards.get(shard);
      return { seq, firstSeq, term, at: this.#now() };
    });
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
    const where = 'where t.shard = $1::integer order by t.no limit $2::bigint';
    const parameters = [shard, limit];
    return this.#read((session) => selectRows(session, INBOX, where, ...parameters));
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
    await this.#file.close();
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

  /** On a connection of its own. */
  async #apart<T>(use: (session: Session) => Promise<T>): Promise<T> {
    await this.#file.repaired;
    const session = await this.#file.opened.connect();
    try {
      return await use(session);
    } catch (cause) {
      throw this.#file.failed(cause);
    } finally {
      session.close();
    }
  }

  async #ofJob<T>(
    shard: number,
    id: JobId,
    read: (session: Session, job: JobRow) => Promise<T>,
  ): Promise<T | null> {
    return this.#read(async (session) => {
      const numbers = this.#shards.jobs.find(nameHash(id));
      const job = await views.jobById(session, shard, id, numbers);
      return job === null ? null : read(session, job);
    });
  }
}
