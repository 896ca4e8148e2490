import { MillraceError, isMillraceError, isObject } from '../../../scheduler/core/index.ts';
import type { ErrorCode, JobId, LeaderAddress, TaskId } from '../../../scheduler/core/index.ts';
import { backoffMs, deferred, sleepOrAbort, startStop } from '../../../kit/index.ts';
import type { BackoffRange, Clock, Deferred, StartStop } from '../../../kit/index.ts';
import type {
  AsOf,
  CountedJobs,
  Dated,
  DeadTask,
  EventPage,
  EventsQuery,
  ReadJob,
  JobSummary,
  JobsQuery,
  LogPage,
  LogsQuery,
  NodeShape,
  Page,
  Reader,
  ScheduleShape,
} from '../../../scheduler/contract/index.ts';
import { CachedJobs } from './cached-jobs.ts';
import { FollowedLog } from './followed-log.ts';
import { Refresher } from './refresher.ts';

export interface ReplicaOptions {
  /** A source over gRPC has no list of dead tasks; jobs are counted here. */
  readonly source: Omit<Reader, 'deadTasks' | 'jobCounts'> & Partial<Pick<Reader, 'deadTasks'>>;
  readonly clock: Clock;
  /** Jobs kept in memory, the youngest. */
  readonly jobsMax: number;
  readonly eventsMax: number;
  /** A fraction in [0, 1). */
  readonly random: () => number;
  /** Called with the reason why it cannot follow, once for each code; it goes on trying. */
  readonly onTrouble?: (error: MillraceError) => void;
}

const BACKOFF: BackoffRange = { firstMs: 100, maxMs: 2_000 };
/** How often followers of the log get a keep-alive. */
const BEAT_MS = 5_000;
/** To wait does not help against these. */
const HOPELESS: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden']);

/**
 * Follows the log of its source and caches what it has seen. Events say what has changed; the new
 * state is then read from the source, so that nothing is derived twice in two ways. Jobs are read
 * in the background: however many there are, the log is followed without delay, and a job that is
 * not cached yet is read when somebody asks for it. While the source is unreachable the cached
 * state is answered, with the time that it is from.
 */
export class Replica implements Reader {
  readonly #options: ReplicaOptions;
  readonly #jobs: CachedJobs;
  readonly #log: FollowedLog;
  readonly #refresher: Refresher;
  readonly #life: StartStop;
  #nodes: Dated<readonly NodeShape<Date>[]> | null = null;
  #schedules: Dated<readonly ScheduleShape<Date>[]> | null = null;
  #leader: LeaderAddress | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #stop: AbortController = new AbortController();
  readonly #ready: Deferred<void> = deferred();
  readonly #reported: Set<ErrorCode> = new Set();

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#jobs = new CachedJobs(options.jobsMax);
    this.#log = new FollowedLog(options.eventsMax);
    this.#refresher = new Refresher(options.source, this.#jobs);
    this.#ready.promise.catch(() => {});
    this.#life = startStop({
      start: () => {
        this.#stop = new AbortController();
        const { signal } = this.#stop;
        this.#running = Promise.all([this.#followForEver(signal), this.#refreshForEver(signal)]);
      },
      stop: async () => {
        this.#stop.abort();
        await this.#running;
      },
    });
  }

  /** Settles when it follows the log and can answer; rejects when its credentials are refused. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  /** As it was seen last. */
  leader(): Promise<LeaderAddress | null> {
    return Promise.resolve(this.#leader);
  }

  /** Asks the source, whatever else is still to be read; throws while it is unreachable. */
  async askLeader(): Promise<LeaderAddress | null> {
    this.#leader = await this.#options.source.leader();
    return this.#leader;
  }

  async head(): Promise<AsOf<Date>> {
    return this.#log.asOf ?? this.#options.source.head();
  }

  /** Lines are not copied: they are many, and few are read. */
  logs(query: LogsQuery): Promise<LogPage | null> {
    return this.#options.source.logs(query);
  }

  async nodes(): Promise<Dated<readonly NodeShape<Date>[]>> {
    return this.#nodes ?? this.#options.source.nodes();
  }

  async schedules(): Promise<Dated<readonly ScheduleShape<Date>[]>> {
    return this.#schedules ?? this.#options.source.schedules();
  }

  async jobs(query: JobsQuery): Promise<Dated<Page<JobSummary<Date>>>> {
    // What a task waits for is not cached.
    if (query.waitingFor !== undefined) return this.#options.source.jobs(query);
    const { isWhole, items, cursor } = this.#jobs.page(query);
    const asOf = this.#refresher.cleanAsOf;
    if (isWhole && asOf !== null) return { asOf, value: { items, cursor } };
    try {
      return await this.#options.source.jobs(query);
    } catch (error) {
      // What is kept of the page, and a cursor to ask for the rest when the source is back.
      if (asOf === null || items.length === 0) throw error;
      return { asOf, value: { items, cursor } };
    }
  }

  /** Of those that are cached, however many the source has. */
  async jobCounts(): Promise<Dated<CountedJobs>> {
    const asOf = this.#refresher.cleanAsOf ?? (await this.head());
    return { asOf, value: this.#jobs.counts() };
  }

  async job(id: JobId): Promise<Dated<ReadJob | null>> {
    const kept = this.#jobs.get(id);
    const asOf = this.#log.asOf;
    // Nothing has happened to it since it was read: it is as fresh as the log, or fresher.
    if (kept !== undefined && !kept.isStale && asOf !== null) {
      return asOf.seq > kept.read.asOf.seq ? { ...kept.read, asOf } : kept.read;
    }
    try {
      return await this.#refresher.read(id);
    } catch (error) {
      if (kept === undefined) throw error;
      return kept.read;
    }
  }

  /** Rarely asked for: not kept here. */
  async deadTasks(
    query: Pick<JobsQuery, 'limit' | 'cursor'>,
  ): Promise<Dated<Page<DeadTask<Date>>>> {
    const { source } = this.#options;
    if (source.deadTasks !== undefined) return source.deadTasks(query);
    throw new MillraceError({
      code: 'not_leader',
      what: 'An observer without database access cannot list dead tasks.',
      todo: 'Ask the leader.',
      ...(this.#leader === null ? {} : { leader: this.#leader }),
    });
  }

  task(job: JobId, task: TaskId): ReturnType<Reader['task']> {
    return this.#options.source.task(job, task);
  }

  async *follow(query: EventsQuery, signal: AbortSignal): AsyncIterable<EventPage> {
    let place: EventsQuery = query;
    const passed = ({ asOf: { seq, history } }: EventPage): void => {
      const after = Math.max(place.after, seq);
      place = { ...place, after, ...(history === undefined ? {} : { history }) };
    };
    // Whether the place is part of the history that is followed here, only the source can tell.
    let isKnown = query.history === undefined || query.history === this.#log.asOf?.history;
    let { era } = this.#log;
    while (!signal.aborted) {
      if (era !== this.#log.era) isKnown = false;
      const asOf = this.#log.asOf;
      if (asOf === null || !isKnown || !this.#log.reaches(place.after)) {
        for await (const page of this.#options.source.follow(place, signal)) {
          passed(page);
          yield page;
          ({ era } = this.#log);
          isKnown = page.asOf.history === this.#log.asOf?.history;
          if (isKnown && this.#log.reaches(place.after)) break;
        }
        continue;
      }
      const page = this.#log.page(place, asOf);
      if (page.events.length > 0 || asOf.seq > place.after) yield page;
      passed(page);
      if (this.#log.asOf === asOf && !(await this.#somethingNew(signal))) {
        yield { events: [], asOf };
      }
    }
  }

  /** False when nothing came for a while. */
  async #somethingNew(signal: AbortSignal): Promise<boolean> {
    const { added, done } = this.#log.more();
    let isNew = true;
    const cancel = this.#options.clock.after(BEAT_MS, () => {
      isNew = false;
      done();
    });
    signal.addEventListener('abort', done);
    await added;
    cancel();
    signal.removeEventListener('abort', done);
    return isNew;
  }

  async #followForEver(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let place: AsOf<Date> | null = null;
    while (!signal.aborted) {
      try {
        place ??= await this.#readAll();
        this.#ready.resolve();
        for await (const page of this.#options.source.follow(queryFrom(place), signal)) {
          await this.#take(page);
          place = page.asOf;
          failures = 0;
        }
      } catch (error) {
        // What it would have to catch up with is gone, or it is another history: start over.
        if (isMillraceError(error, 'expired')) {
          place = null;
          this.#forgetAll();
        } else if (!signal.aborted) this.#troubled(asTrouble(error));
        failures += 1;
      }
      if (!signal.aborted) await this.#backOff(failures, signal);
    }
  }

  /** Keeps the cached jobs up to date with the log. */
  async #refreshForEver(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const asOf = this.#log.asOf;
      try {
        if (asOf !== null) await this.#refresher.catchUp(asOf);
        failures = 0;
        if (this.#log.asOf === asOf) await this.#somethingNew(signal);
      } catch (error) {
        failures += 1;
        if (signal.aborted) return;
        this.#troubled(asTrouble(error));
        await this.#backOff(failures, signal);
      }
    }
  }

  /** What is cached may never have happened in the history that goes on: until it is read again, the source is
   * asked. */
  #forgetAll(): void {
    this.#log.reset(null);
    this.#refresher.forgetAll();
    this.#nodes = null;
    this.#schedules = null;
  }

  #troubled(error: MillraceError): void {
    if (HOPELESS.has(error.code)) this.#ready.reject(error);
    if (this.#reported.has(error.code)) return;
    this.#reported.add(error.code);
    this.#options.onTrouble?.(error);
  }

  /** Reads everything but the jobs, of which it only makes a list. Returns where the log has to be followed from. */
  async #readAll(): Promise<AsOf<Date>> {
    const { source } = this.#options;
    // First the log's end, then the rest: what happens in between is read twice rather than missed.
    const asOf = await source.head();
    await this.askLeader();
    this.#nodes = await source.nodes();
    this.#schedules = await source.schedules();
    await this.#refresher.listAll(this.#options.jobsMax);
    this.#log.reset(asOf);
    return asOf;
  }

  async #take(page: EventPage): Promise<void> {
    const { source } = this.#options;
    const kinds = new Set(page.events.map(({ kind }) => kind.split('.')[0] ?? ''));
    if (kinds.has('leader')) await this.askLeader();
    // Who runs what changes with every assignment; a sign of life is a good time to look too.
    if (kinds.has('node') || kinds.has('assigned') || kinds.size === 0) {
      this.#nodes = await source.nodes();
    }
    if (kinds.has('schedule')) this.#schedules = await source.schedules();
    for (const event of page.events) {
      const job = event.job ?? removedJob(event);
      if (job !== null) this.#refresher.changed(job, event.seq);
    }
    this.#log.add(page);
  }

  #backOff(failures: number, signal: AbortSignal): Promise<void> {
    const delayMs = backoffMs(BACKOFF, failures + 1, this.#options.random);
    return sleepOrAbort(this.#options.clock, delayMs, signal);
  }
}

/** A job that is gone has no name but this. */
function removedJob({ kind, detail }: EventPage['events'][number]): JobId | null {
  if (kind !== 'job.removed' || !isObject(detail)) return null;
  return typeof detail['job'] === 'string' ? (detail['job'] as JobId) : null;
}

function queryFrom({ seq: after, history }: AsOf<Date>): EventsQuery {
  return { after, ...(history === undefined ? {} : { history }) };
}

function asTrouble(cause: unknown): MillraceError {
  if (isMillraceError(cause)) return cause;
  return new MillraceError({ code: 'invariant', what: 'Following the event log failed.', cause });
}
