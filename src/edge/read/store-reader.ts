/** Reads from the store: how a node with a database answers. */
import {
  TRACE_STEP,
  isDeclined,
  isMillraceError,
  jobNo,
  MillraceError,
  taskNo,
} from '../../scheduler/core/index.ts';
import type {
  Instant,
  JobId,
  LeaderAddress,
  NodeId,
  TaskId,
  TaskState,
} from '../../scheduler/core/index.ts';
import { cursorOf, readCursor } from '../../scheduler/contract/index.ts';
import type {
  AsOf,
  CountedJobs,
  Dated,
  DeadTask,
  EventPage,
  EventsQuery,
  ReadJob,
  ReadResult,
  JobSummary,
  JobsQuery,
  LogPage,
  LogsQuery,
  NodeShape,
  Page,
  Reader,
  ScheduleShape,
  TaskDetail,
  WorkerFigures,
} from '../../scheduler/contract/index.ts';
import type { Holds, JobView, Store } from '../../scheduler/store/index.ts';

import type { EventFeed } from './event-feed.ts';
import { JobCounter } from './job-counter.ts';
import { resultText } from './job-result.ts';
import {
  deadTask,
  jobShape,
  jobSummary,
  logShape,
  nodeShape,
  scheduleShape,
  dateOf,
} from './row-shapes.ts';
import { attemptsOf } from './task-attempts.ts';
import { taskDetail } from './task-detail.ts';
import type { KnownLease } from './task-detail.ts';

export interface StoreReaderOptions {
  readonly store: Store;
  readonly shard?: number;
  readonly feed: EventFeed;
  /** Why tasks of a job wait, as sentences, where this node leads; without those that it does not know. */
  readonly explain?: (job: JobId, tasks: readonly TaskId[]) => Promise<ReadonlyMap<TaskId, string>>;
  /** When a node was heard last, where this node leads: a heartbeat writes no row. */
  readonly seenAt?: (node: NodeId) => Instant | null;
  /** What a node has measured of itself, where this node leads. */
  readonly figures?: (node: NodeId) => WorkerFigures | null;
  /** How many tasks each node holds, where this node leads. */
  readonly holds?: () => Holds | undefined;
  /** What the leader knows of the lease of a task, where this node leads. */
  readonly lease?: (job: JobId, task: TaskId) => KnownLease | null;
  /** Why there is no such job, where that is known. */
  readonly whyMissing?: (job: JobId) => string | null;
  /** Characters of results that are shown of one job. */
  readonly resultCharsMax?: number;
}

/** A view of a job shows the first few of its waiting tasks; each explanation has a cost. */
const EXPLAINED_MAX = 100;
/** A job is answered in one piece: what is far larger would not get through, or fill the memory. */
const RESULT_CHARS_MAX: number = 64 * 1024 * 1024;

/** More would take PostgreSQL many seconds on a busy machine. */
const COUNTED_MAX = 1_000_000;

const WAITING: ReadonlySet<TaskState> = new Set(['blocked', 'ready', 'delayed']);

export class StoreReader implements Reader {
  readonly #store: Store;
  readonly #shard: number;
  readonly #feed: EventFeed;
  readonly #explain: StoreReaderOptions['explain'];
  readonly #seenAt: StoreReaderOptions['seenAt'];
  readonly #figures: StoreReaderOptions['figures'];
  readonly #holds: StoreReaderOptions['holds'];
  readonly #lease: StoreReaderOptions['lease'];
  readonly #whyMissing: StoreReaderOptions['whyMissing'];
  readonly #resultCharsMax: number;
  readonly #counter: JobCounter;

  constructor({ store, shard = 0, feed, explain, seenAt, ...rest }: StoreReaderOptions) {
    this.#store = store;
    this.#shard = shard;
    this.#feed = feed;
    this.#explain = explain;
    this.#seenAt = seenAt;
    this.#figures = rest.figures;
    this.#holds = rest.holds;
    this.#lease = rest.lease;
    this.#whyMissing = rest.whyMissing;
    this.#resultCharsMax = rest.resultCharsMax ?? RESULT_CHARS_MAX;
    this.#counter = new JobCounter({
      newest: COUNTED_MAX,
      count: (newest) => this.#dated(() => store.countJobs(shard, newest)),
      nowMs: () => performance.now(),
    });
  }

  /** Null also if the leader's term has expired: it may be gone, and clients should wait. */
  async leader(): Promise<LeaderAddress | null> {
    const { at } = await this.#store.lastSeq(this.#shard);
    const info = await this.#store.leader(this.#shard);
    if (info === null || info.expiresAt <= at) return null;
    const { nodeId, url, grpc, epoch } = info;
    return { nodeId, url, grpc, epoch };
  }

  jobs({ limit, cursor, ...filter }: JobsQuery): Promise<Dated<Page<JobSummary<Date>>>> {
    return this.#dated(async () => {
      const [before] = cursor === undefined ? [] : readCursor('jobs', 1, cursor);
      const rows = await this.#store.jobs(this.#shard, {
        ...filter,
        ...(before === undefined ? {} : { before: jobNo(before) }),
        limit: limit + 1,
      });
      const { shown, last } = firstOf(rows, limit);
      return {
        items: shown.map(jobSummary),
        cursor: last === null ? null : cursorOf('jobs', [last.no]),
      };
    });
  }

  async jobCounts(): Promise<Dated<CountedJobs>> {
    const { seq } = await this.head();
    return this.#counter.read(seq);
  }

  job(id: JobId): Promise<Dated<ReadJob | null>> {
    return this.#dated(async () => {
      const view = await this.#store.job(this.#shard, id);
      if (view === null) return this.#missing(id);
      const reasons = await this.#reasons(view);
      return jobShape(view, reasons, this.#resultCharsMax);
    });
  }

  async resultOf(id: JobId): Promise<string | null> {
    const view = await this.#store.job(this.#shard, id);
    return view === null ? null : resultText(view, this.#resultCharsMax);
  }

  task(id: JobId, taskId: TaskId): Promise<Dated<TaskDetail<ReadResult, Date> | null>> {
    return this.#dated(async () => {
      const view = await this.#store.job(this.#shard, id);
      if (view === null) return this.#missing(id);
      const found = view.tasks.find(({ spec }) => spec.id === taskId);
      if (found === undefined) return null;
      const own = { ...view, tasks: [found] };
      const reasons = await this.#reasons(own);
      const [shown] = (await jobShape(own, reasons, this.#resultCharsMax)).tasks;
      if (shown === undefined) return null;
      const all = await this.#store.steps(this.#shard, found.task, found.task.run);
      // Nothing that the handler did.
      const steps = all.filter(({ name }) => !name.startsWith(TRACE_STEP));
      const known = this.#lease?.(id, taskId) ?? null;
      const attempts = await attemptsOf(
        this.#store,
        this.#shard,
        id,
        found.task,
        found.spec.executor,
      );
      const charsMax = this.#resultCharsMax;
      return taskDetail(shown, { view, found, steps, known, attempts, charsMax });
    });
  }

  async logs({ job, task, ...query }: LogsQuery): Promise<LogPage | null> {
    const row = await this.#store.jobRow(this.#shard, job);
    if (row === null) return this.#missing(job);
    const filter = { ...query, jobId: job, ...(task === undefined ? {} : { taskId: task }) };
    const rows = await this.#store.taskLog.read(this.#shard, filter);
    return { state: row.state, lines: rows.map(logShape) };
  }

  #missing(id: JobId): null {
    const why = this.#whyMissing?.(id) ?? null;
    if (why === null) return null;
    const what = `There is no job ${id}.`;
    throw new MillraceError({ code: 'not_found', what, why, todo: 'Submit it again.' });
  }

  deadTasks(query: Pick<JobsQuery, 'limit' | 'cursor'>): Promise<Dated<Page<DeadTask<Date>>>> {
    const { limit, cursor } = query;
    return this.#dated(async () => {
      const [job, task] = cursor === undefined ? [] : readCursor('dead', 2, cursor);
      const before =
        job === undefined || task === undefined
          ? {}
          : { before: { jobNo: jobNo(job), taskNo: taskNo(task) } };
      const rows = await this.#store.deadTasks(this.#shard, { ...before, limit: limit + 1 });
      const { shown, last } = firstOf(rows, limit);
      const next = last === null ? null : cursorOf('dead', [last.task.jobNo, last.task.taskNo]);
      return { items: shown.map(deadTask), cursor: next };
    });
  }

  nodes(): Promise<Dated<readonly NodeShape<Date>[]>> {
    return this.#dated(async () => {
      const holds = this.#holds?.();
      const nodes = await this.#store.nodes(this.#shard, holds);
      return nodes.map((node) =>
        nodeShape(
          {
            ...node,
            running: holds?.(node.id) ?? node.running,
            seenAt: this.#seenAt?.(node.id) ?? node.seenAt,
          },
          this.#figures?.(node.id) ?? null,
        ),
      );
    });
  }

  schedules(): Promise<Dated<readonly ScheduleShape<Date>[]>> {
    return this.#dated(async () => {
      const rows = await this.#store.schedules(this.#shard);
      return rows.filter((row) => !isDeclined(row)).map(scheduleShape);
    });
  }

  async unfolded(): Promise<number | null> {
    return (await this.#store.unfolded?.(this.#shard)) ?? null;
  }

  async head(): Promise<AsOf<Date>> {
    const { seq, at, term } = await this.#store.lastSeq(this.#shard);
    return { seq, at: dateOf(at), ...(term === null ? {} : { history: term }) };
  }

  follow(query: EventsQuery, signal: AbortSignal): AsyncIterable<EventPage> {
    return this.#feed.follow(query, signal);
  }

  /** The log's head is read first: what is read after it shows at least as much. */
  async #dated<T>(read: () => Promise<T>): Promise<Dated<T>> {
    const asOf = await this.head();
    return { asOf, value: await read() };
  }

  async #reasons(view: JobView): Promise<ReadonlyMap<TaskId, string>> {
    const waiting = view.tasks.filter(({ task }) => WAITING.has(task.state));
    if (this.#explain === undefined || waiting.length === 0) return new Map();
    const ids = waiting.slice(0, EXPLAINED_MAX).map(({ spec }) => spec.id);
    return this.#explain(view.job.id, ids).catch(asUnknown);
  }
}

/** A term that ends during a read of a job costs the reasons, not the job. */
function asUnknown(error: unknown): ReadonlyMap<TaskId, string> {
  if (isMillraceError(error)) return new Map();
  throw error;
}

/** One row more than asked for tells whether there is another page; `last` is where it starts. */
function firstOf<T>(rows: readonly T[], limit: number): { shown: readonly T[]; last: T | null } {
  const shown = rows.slice(0, limit);
  return { shown, last: rows.length > limit ? (shown.at(-1) ?? null) : null };
}
