/** The client over a server's HTTP API: what `connect` gives, and what a runtime gives with its own node. */
import { setMaxListeners } from 'node:events';
import { uuidv7 } from 'uuidv7';
import type { HttpClient } from '../http/index.ts';
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { Explanation, JobId, Json, TaskId } from '../../scheduler/core/index.ts';
import type { Callable, TaskDefinition } from '../../tasks/executors/index.ts';
import { definitionsOf } from '../../tasks/executors/index.ts';
import { submissionOf } from '../../tasks/flow/index.ts';
import type {
  EventShape,
  JobShape,
  JobSummary,
  NodeShape,
} from '../../scheduler/contract/index.ts';
import type {
  CallOptions,
  Client,
  EventsOptions,
  ForkOptions,
  InputAndOptions,
  JobHandle,
  JobRef,
  JobsFilter,
  Submission,
  SubmitOptions,
  WatchOptions,
} from './client.ts';
import { JobError } from './job-error.ts';
import { schedulesOver } from './schedules.ts';
import type { Schedules } from './schedules.ts';
import { sqlOver } from './sql-query.ts';
import type { Sql, SqlTables } from './sql.ts';

export interface BackingOptions {
  readonly http: HttpClient;
  /** Before something is submitted: whoever executes has to know its tasks. */
  readonly offer: (tasks: readonly TaskDefinition[]) => Promise<void>;
  /** Tables of all queries. */
  readonly tables?: SqlTables | undefined;
  /** Lets go of what lies behind the client, once its calls are over. */
  readonly onClose: () => Promise<void>;
}

type Read<O> = (result: Json) => O | Promise<O>;

export class HttpBackedClient implements Client {
  readonly schedules: Schedules;
  readonly sql: Sql;
  readonly #http: HttpClient;
  readonly #options: BackingOptions;
  readonly #life = new AbortController();
  readonly #readers: WeakMap<object, Read<unknown>> = new WeakMap();
  #closing: Promise<void> | null = null;

  constructor(options: BackingOptions) {
    this.#options = options;
    this.#http = options.http;
    // Every call that waits listens to it, and there may be thousands.
    setMaxListeners(0, this.#life.signal);
    this.schedules = schedulesOver(
      options.http,
      (call) => this.#limited(call),
      (what) => options.offer(definitionsOf(what)),
    );
    this.sql = sqlOver({
      calls: options.http.queries,
      limited: (call) => this.#limited(call),
      tables: options.tables,
    });
  }

  async submit<I, O>(
    what: Callable<I, O> | object,
    ...[input, options = {}]: InputAndOptions<I>
  ): Promise<JobHandle<O>> {
    const { signal } = this.#limited(options);
    const { document, tasks, readResult } = await submissionOf(what, input);
    await this.#options.offer(tasks);
    const { jobId } = options;
    const { id, isNew } = await this.#http.submit(adjusted(document, options), {
      ...(jobId === undefined ? {} : { jobId: jobId as JobId }),
      signal,
    });
    return this.#handle(id, isNew, readResult as Read<O>);
  }

  async submitAll(
    jobs: readonly Submission[],
    options?: CallOptions,
  ): Promise<readonly (JobHandle<unknown> | Error)[]> {
    const read = await Promise.all(jobs.map((job) => this.#read(job)));
    const good = read.flatMap((each) => (each instanceof Error ? [] : [each]));
    await this.#options.offer([...new Set(good.flatMap(({ tasks }) => tasks))]);
    const documents = good.map(({ document }) => document);
    const answers = await this.#http.submitAll(documents, this.#limited(options));
    let at = 0;
    return read.map((each) => {
      if (each instanceof Error) return each;
      const answer = answers[at];
      at += 1;
      if (answer === undefined || isMillraceError(answer)) return answer ?? noAnswer();
      return this.#handle(answer.id, answer.isNew, each.readResult);
    });
  }

  handle<O = Json>(id: string, what?: Callable<never, O>): JobHandle<O> {
    const read: Read<O> =
      what === undefined ? (result) => result as O : (result) => what.readResult(result);
    return this.#handle(id, false, read);
  }

  job(job: JobRef, options?: CallOptions): Promise<JobShape> {
    return this.#http.job(idOf(job), this.#limited(options));
  }

  async *jobs(filter: JobsFilter = {}): AsyncGenerator<JobSummary, void> {
    const { state, name } = filter;
    const pages = this.#http.jobs({
      ...this.#limited(filter),
      ...(state === undefined ? {} : { state }),
      ...(name === undefined ? {} : { name }),
    });
    for await (const page of pages) yield* page.jobs;
  }

  result<O>(job: JobHandle<O>, options?: CallOptions): Promise<O>;
  result(job: string, options?: CallOptions): Promise<Json>;
  async result(job: JobRef, options?: CallOptions): Promise<unknown> {
    const read = typeof job === 'string' ? undefined : this.#readers.get(job);
    // However long the cluster is away: the caller decides when to give up.
    const ended = await this.#http.result(idOf(job), {
      ...this.#limited(options),
      retriesForever: true,
    });
    if (ended.state !== 'succeeded') throw new JobError(ended);
    return read === undefined ? ended.result : read(ended.result);
  }

  watch(job: JobRef, options: WatchOptions = {}): AsyncGenerator<EventShape, JobShape> {
    const { after = 0 } = options;
    return this.#http.watch(idOf(job), { ...this.#limited(options), retriesForever: true, after });
  }

  cancel(job: JobRef, reason?: string, options?: CallOptions): Promise<JobShape> {
    return this.#http.cancel(idOf(job), reason, this.#limited(options));
  }

  rerun(job: JobRef, options?: CallOptions): Promise<JobShape> {
    return this.#http.rerun(idOf(job), this.#limited(options));
  }

  fork<O>(job: JobHandle<O>, from: string, options?: ForkOptions): Promise<JobHandle<O>>;
  fork(job: string, from: string, options?: ForkOptions): Promise<JobHandle<Json>>;
  async fork(job: JobRef, from: string, options: ForkOptions = {}): Promise<JobHandle<unknown>> {
    const read = typeof job === 'string' ? undefined : this.#readers.get(job);
    const jobId = (options.jobId ?? uuidv7()) as JobId;
    const { id } = await this.#http.fork(idOf(job), {
      from: from as TaskId,
      jobId,
      ...this.#limited(options),
    });
    return this.#handle(id, id === jobId, read ?? ((result) => result));
  }

  redrive(job: JobRef, task: string, options?: CallOptions): Promise<JobShape> {
    return this.#http.redrive(idOf(job), task as TaskId, this.#limited(options));
  }

  async signal(
    job: JobRef,
    name: string,
    value?: unknown,
    options?: CallOptions,
  ): Promise<JobShape> {
    return this.#http.signal(idOf(job), name, asJson(name, value), this.#limited(options));
  }

  explain(job: JobRef, task: string, options?: CallOptions): Promise<Explanation> {
    return this.#http.explain(idOf(job), task as TaskId, this.#limited(options));
  }

  events(options: EventsOptions = {}): AsyncGenerator<EventShape, void> {
    const { after, job } = options;
    return this.#http.events({
      ...this.#limited(options),
      ...(after === undefined ? {} : { after }),
      ...(job === undefined ? {} : { job: idOf(job) }),
    });
  }

  async nodes(options?: CallOptions): Promise<readonly NodeShape[]> {
    return (await this.#http.nodes(this.#limited(options))).nodes;
  }

  /** All that waits ends with this reason, and so does all that is asked from now on. */
  end(reason: Error): void {
    this.#life.abort(reason);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    try {
      await this.#options.onClose();
    } finally {
      this.end(closed());
      this.#http.close();
    }
  }

  async #read({ what, input, options = {} }: Submission): Promise<ReadJob | Error> {
    try {
      const { document, ...rest } = await submissionOf(what, input);
      return { document: adjusted(document, options), ...rest };
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #handle<O>(id: string, isNew: boolean, read: Read<O>): JobHandle<O> {
    const handle: JobHandle<O> = {
      id,
      isNew,
      result: (options) => this.result(handle, options),
      watch: (options) => this.watch(id, options),
      cancel: (reason) => this.cancel(id, reason),
      signal: (name, value) => this.signal(id, name, value),
      job: () => this.job(id),
    };
    this.#readers.set(handle, read);
    return handle;
  }

  #limited(options: CallOptions = {}): { readonly signal: AbortSignal } {
    const { signal } = this.#life;
    return {
      signal: options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]),
    };
  }
}

type ReadJob = Awaited<ReturnType<typeof submissionOf>>;

/** What the caller says counts more than what the flow says. */
function adjusted(
  document: Readonly<Record<string, unknown>>,
  { name, priority, idempotencyKey }: SubmitOptions,
): Readonly<Record<string, unknown>> {
  return {
    ...document,
    ...(name === undefined ? {} : { name }),
    ...(priority === undefined ? {} : { priority }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}

function idOf(job: JobRef): JobId {
  return (typeof job === 'string' ? job : job.id) as JobId;
}

/** Nothing said is null. */
function asJson(name: string, value: unknown): Json {
  if (value === undefined) return null;
  if (JSON.stringify(value) !== undefined) return value as Json;
  throw new MillraceError({
    code: 'bad_input',
    what: `The value of signal ${name} is not valid JSON: it is a ${typeof value}.`,
  });
}

function noAnswer(): MillraceError {
  return new MillraceError({
    code: 'invariant',
    what: 'The server did not answer for every submitted job.',
  });
}

function closed(): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: 'This client was closed.',
    todo: 'Close it after all calls have returned.',
  });
}
