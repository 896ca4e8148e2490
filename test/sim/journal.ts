/**
 * A transparent layer right on the shared store that writes down what really happened there: who
 * was elected, and which batch was applied when and under which term. Nothing that lies or breaks
 * stands between it and the tables.
 */
import { isFinished } from '../../src/scheduler/core/index.ts';
import type {
  AwaitedThings,
  Batch,
  EventRow,
  Instant,
  JobId,
  JobRow,
  JobNo,
  TaskRow,
  TermId,
} from '../../src/scheduler/core/index.ts';
import type {
  Campaign,
  Candidacy,
  MemoryStore,
  NewRecord,
  Store,
  Term,
} from '../../src/scheduler/store/index.ts';
import { refKey, unpackBatch } from '../../src/scheduler/store/index.ts';
import { updatedJob } from '../../src/scheduler/store/journal/job-change.ts';
import type { World } from './world.ts';

export interface Applied {
  readonly atMs: number;
  /** By the database's clock. */
  readonly at: Instant;
  readonly term: Term;
  readonly batch: Batch;
}

export interface Elected {
  readonly atMs: number;
  readonly term: Term;
  readonly nodeId: string;
}

/** A state of the shared store to which it can be taken back. */
export interface Picture {
  readonly commits: number;
  readonly terms: number;
}

export class Journal {
  /** Of the history that the store has; what a rewind has taken away is not among them. */
  readonly commits: Applied[] = [];
  readonly terms: Elected[] = [];
  readonly events: EventRow[] = [];
  /** Jobs that have not ended. */
  readonly live: Set<string> = new Set();
  #rewinds = 0;
  /** Of all histories. */
  readonly #byFence: Map<string, EventRow[]> = new Map();
  readonly #jobIds: Map<JobId, JobNo> = new Map();
  readonly #idsByNo: Map<JobNo, JobId> = new Map();
  readonly #runs: Map<string, number> = new Map();
  readonly #rows: Map<string, TaskRow> = new Map();
  readonly #terms: Map<string, TermId> = new Map();
  /** By number, as they were committed last. */
  readonly jobs: Map<number, JobRow> = new Map();

  /** The shared store, with every commit and election written down. */
  wrap(store: MemoryStore, world: World): MemoryStore {
    return intercepted(store, {
      campaign: async (candidacy: Candidacy): Promise<Campaign> => {
        const campaign = await store.campaign(candidacy);
        if (campaign.won) {
          const { term } = campaign;
          this.terms.push({ atMs: world.nowMs, term, nodeId: candidacy.nodeId });
        }
        return campaign;
      },
      commit: (term: Term, ttlMs: number, batch: Batch) => {
        // Applied within the call, before the promise is looked at: nothing comes in between.
        const applied = { atMs: world.nowMs, at: world.databaseNow(), term, batch };
        return store.commit(term, ttlMs, batch).then((now) => {
          this.#take(applied);
          return now;
        });
      },
      append: (term: Term, ttlMs: number, record: NewRecord, unproven: Batch | null) => {
        const batch = this.#completed(unpackBatch(record.body));
        const applied = { atMs: world.nowMs, at: world.databaseNow(), term, batch };
        return store.append(term, ttlMs, record, unproven).then((now) => {
          this.#take(applied);
          return now;
        });
      },
    });
  }

  /** A record has what changes of a job. */
  #completed(batch: Batch): Batch {
    const known = (no: JobNo): JobRow | undefined =>
      batch.jobInserts.find((row) => row.no === no) ?? this.jobs.get(no);
    const jobUpdates = batch.jobUpdates.map((row) => updatedJob(known(row.no) ?? row, row));
    return { ...batch, jobUpdates };
  }

  /** How often the store was taken back. */
  get rewinds(): number {
    return this.#rewinds;
  }

  picture(): Picture {
    return { commits: this.commits.length, terms: this.terms.length };
  }

  /** The store is as it was then. */
  rewind({ commits, terms }: Picture): void {
    const left = this.commits.slice(0, commits);
    this.commits.length = 0;
    this.events.length = 0;
    this.terms.length = terms;
    this.live.clear();
    for (const map of [this.#jobIds, this.#idsByNo, this.#runs, this.#rows, this.#terms])
      map.clear();
    this.jobs.clear();
    for (const applied of left) this.#tell(applied);
    this.#rewinds += 1;
  }

  /** Whether the event is part of the history that the store has. */
  isCurrent(event: EventRow): boolean {
    return this.events[event.seq - 1] === event;
  }

  /** The log entries of these kinds for one lease that were committed, in this history or in one that a rewind
   * has taken away since. */
  all(jobNo: number, taskNo: number, fence: number, kinds: readonly string[]): EventRow[] {
    const events = this.#byFence.get(`${jobNo}/${taskNo}/${fence}`) ?? [];
    return events.filter(({ kind }) => kinds.includes(kind));
  }

  /** The same of this history only. */
  find(jobNo: number, taskNo: number, fence: number, kinds: readonly string[]): EventRow | null {
    return this.all(jobNo, taskNo, fence, kinds).find((each) => this.isCurrent(each)) ?? null;
  }

  hasJob(jobId: string): boolean {
    return this.#jobIds.has(jobId as JobId);
  }

  /** The latest run of a job that was committed. */
  runOf(jobId: string): number {
    return this.#runs.get(jobId) ?? 0;
  }

  /** What tasks wait for right now, as far as it is committed. */
  listening(): { readonly jobId: JobId; readonly name: string; readonly key: unknown }[] {
    return [...this.#rows.values()].flatMap(({ jobNo, waits }) => {
      const jobId = this.#idsByNo.get(jobNo);
      if (waits === null || jobId === undefined) return [];
      return (JSON.parse(waits) as AwaitedThings).signals.map(({ name, match }) => ({
        jobId,
        name,
        key: match?.[0]?.[1],
      }));
    });
  }

  /** The fence of the attempt that the task has succeeded with; null if it has not. */
  completedBy(jobNo: number, taskNo: number): number | null {
    const row = this.row(jobNo, taskNo);
    return row?.state === 'succeeded' ? row.fence : null;
  }

  taskRows(): Iterable<TaskRow> {
    return this.#rows.values();
  }

  row(jobNo: number, taskNo: number): TaskRow | null {
    return this.#rows.get(`${jobNo}/${taskNo}`) ?? null;
  }

  /** The term in which this history gave the fence out. */
  termOf(jobNo: number, taskNo: number, fence: number): TermId | null {
    return this.#terms.get(`${jobNo}/${taskNo}/${fence}`) ?? null;
  }

  #take(applied: Applied): void {
    this.#tell(applied);
    for (const event of applied.batch.events) {
      if (event.taskNo === null) continue;
      const key = `${event.jobNo}/${event.taskNo}/${event.fence}`;
      const known = this.#byFence.get(key);
      if (known === undefined) this.#byFence.set(key, [event]);
      else known.push(event);
    }
  }

  #tell(applied: Applied): void {
    const { batch } = applied;
    this.commits.push(applied);
    for (const row of [...batch.jobInserts, ...batch.jobUpdates]) {
      const { no, id, run, state } = row;
      this.jobs.set(no, row);
      this.#jobIds.set(id, no);
      this.#idsByNo.set(no, id);
      this.#runs.set(id, run);
      if (isFinished(state)) this.live.delete(id);
      else this.live.add(id);
    }
    for (const row of [...batch.taskInserts, ...batch.taskUpdates]) {
      this.#rows.set(refKey(row.jobNo, row.taskNo), row);
      if (row.term !== null) this.#terms.set(`${row.jobNo}/${row.taskNo}/${row.fence}`, row.term);
    }
    this.events.push(...batch.events);
  }
}

/** A store of which some methods are others. */
export function intercepted<S extends Store>(store: S, methods: Partial<S>): S {
  return new Proxy(store, {
    get(target, name) {
      const own: unknown = Reflect.get(methods, name);
      if (own !== undefined) return own;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
