/** The client for programs: what `connect` returns, and what a runtime returns with its own node. */
import { uuidv7 } from 'uuidv7';
import { MillraceError, isMillraceError, withJobFields } from '../scheduler/core/index.ts';
import type { Json } from '../scheduler/core/index.ts';
import type { Callable, TaskDefinition } from '../tasks/executors/index.ts';
import { definitionsOf, submitFields } from '../tasks/executors/index.ts';
import { submissionOf } from '../tasks/flow/index.ts';
import type {
  BulkAction,
  BulkOutcome,
  FlowShape,
  JobSummary,
  NodeShape,
} from '../scheduler/contract/index.ts';
import type {
  Client,
  JobHandle,
  ResultOfJob,
  Submission,
  SubmitArguments,
  Submittable,
} from './client.ts';
import type { DatedJob } from './answers.ts';
import { HttpClient } from './http-client.ts';
import { Handle, type Read } from './job-handle.ts';
import { JobError } from './job-error.ts';
import type {
  BulkOptions,
  CallOptions,
  ClientOptions,
  ForkOptions,
  JobRef,
  JobsFilter,
  JobsMatch,
  NodesOptions,
  SubmitOptions,
} from './options.ts';
import { sentJobs } from './send-event.ts';
import type { NewEvent, SendOptions, SentJobs } from './send-event.ts';
import { schedulesOver } from './schedules.ts';
import type { Schedules } from './schedules.ts';
import { sqlOver } from './sql/sql-query.ts';
import type { Sql, SqlTables } from './sql/sql.ts';

/** What the client is backed by, if it is more than a remote server. */
export interface Backing {
  /** Called before a submission: the executing worker has to know the tasks. */
  readonly offer?: (tasks: readonly TaskDefinition[]) => Promise<void>;
  /** Tables of all queries. */
  readonly tables?: SqlTables | undefined;
  /** Called when the client is closed, while it still works. */
  readonly onClose?: () => Promise<void>;
}

export class FlowClient extends HttpClient implements Client {
  readonly schedules: Schedules;
  readonly sql: Sql;
  readonly #backing: Backing;
  #closing: Promise<void> | null = null;

  constructor(options: ClientOptions, backing: Backing = {}) {
    super(options);
    this.#backing = backing;
    this.schedules = schedulesOver(this, (what) => this.#offer(definitionsOf(what)));
    this.sql = sqlOver({ calls: this.queries, tables: backing.tables });
  }

  async submit<What extends Submittable>(
    what: What,
    ...[input, options = {}]: SubmitArguments<What>
  ): Promise<JobHandle<ResultOfJob<What>>> {
    const { document, tasks, readResult } = await submissionOf(what, input);
    await this.#offer(tasks);
    const { id, isNew } = await this.submitDocument(withOptions(document, options), options);
    return this.#handle(id, isNew, readResult as Read<ResultOfJob<What>>);
  }

  async start(
    flow: string,
    input?: unknown,
    options: SubmitOptions = {},
  ): Promise<JobHandle<Json>> {
    const body = { input, ...submitFields(options, Date.now()) };
    const { id, isNew } = await this.startFlow(flow, body, options);
    return this.#handle(id, isNew, (result) => result);
  }

  async send(event: string, data?: unknown, options?: SendOptions): Promise<SentJobs> {
    return sentJobs(await this.sendEvent(event, data, options));
  }

  async sendMany(
    events: readonly NewEvent[],
    options?: CallOptions,
  ): Promise<readonly (SentJobs | Error)[]> {
    const sent = await this.sendEvents(events, options);
    return sent.map((each) => (isMillraceError(each) ? each : sentJobs(each)));
  }

  flows(options?: CallOptions): Promise<readonly FlowShape[]> {
    return this.listFlows(options);
  }

  async submitAll(
    jobs: readonly Submission[],
    options?: CallOptions,
  ): Promise<readonly (JobHandle<unknown> | Error)[]> {
    const read = await Promise.all(jobs.map(readSubmission));
    const good = read.filter((each): each is ReadJob => !(each instanceof Error));
    const known = new Set<TaskDefinition>();
    for (const { tasks } of good) for (const task of tasks) known.add(task);
    await this.#offer([...known]);
    const documents = good.map(({ document }) => document);
    const answers = await this.submitDocuments(documents, options);
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

  async *jobs(filter?: JobsFilter): AsyncGenerator<JobSummary, void> {
    for await (const page of this.jobPages(filter)) yield* page.jobs;
  }

  result<O>(job: JobHandle<O>, options?: CallOptions): Promise<O>;
  result(job: string, options?: CallOptions): Promise<Json>;
  result(job: JobRef, options?: CallOptions): Promise<unknown> {
    const read = Handle.readerOf(job);
    const result = this.awaitResult(job, options);
    return read === null ? result : result.then(read);
  }

  /** Throws `JobError` unless the job succeeds. */
  protected async awaitResult(job: JobRef, options?: CallOptions): Promise<Json> {
    return resultIn(await this.ended(job, options));
  }

  /** However long the cluster is away: the caller decides when to give up. */
  override ended(job: JobRef, options?: CallOptions): Promise<DatedJob> {
    return super.ended(job, { retriesForever: true, ...options });
  }

  fork<O>(job: JobHandle<O>, from: string, options?: ForkOptions): Promise<JobHandle<O>>;
  fork(job: string, from: string, options?: ForkOptions): Promise<JobHandle<Json>>;
  async fork(job: JobRef, from: string, options: ForkOptions = {}): Promise<JobHandle<unknown>> {
    const read = Handle.readerOf(job);
    const { jobId = uuidv7() } = options;
    const { id } = await this.forkJob(job, from, { ...options, jobId });
    return this.#handle(id, id === jobId, read ?? ((result) => result));
  }

  async bulk(
    action: BulkAction,
    match: JobsMatch,
    options?: BulkOptions,
  ): Promise<JobHandle<BulkOutcome>> {
    const { id, isNew } = await this.submitBulk(action, match, options);
    return this.#handle(id, isNew, (result) => result as unknown as BulkOutcome);
  }

  async nodes(options?: NodesOptions): Promise<readonly NodeShape[]> {
    return (await this.listNodes(options)).nodes;
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
      await this.#backing.onClose?.();
    } finally {
      this.end();
    }
  }

  async #offer(tasks: readonly TaskDefinition[]): Promise<void> {
    // The workers of a cluster bring their own.
    await this.#backing.offer?.(tasks);
  }

  #handle<O>(id: string, isNew: boolean, read: Read<O>): JobHandle<O> {
    return new Handle(this, { id, isNew }, read);
  }
}

type ReadJob = Awaited<ReturnType<typeof submissionOf>>;

async function readSubmission({ what, input, options = {} }: Submission): Promise<ReadJob | Error> {
  try {
    const { document, ...rest } = await submissionOf(what, input);
    return { document: withOptions(document, options), ...rest };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function withOptions(document: ReadJob['document'], options: SubmitOptions): ReadJob['document'] {
  // Most say nothing.
  if (Object.keys(options).length === 0) return document;
  return withJobFields(document, submitFields(options, Date.now()));
}

function noAnswer(): MillraceError {
  return new MillraceError({
    code: 'invariant',
    what: 'The server did not answer for every submitted job.',
  });
}

export function resultIn(ended: DatedJob): Json {
  if (ended.state !== 'succeeded') throw new JobError(ended);
  return ended.result;
}
