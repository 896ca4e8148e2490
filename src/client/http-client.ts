import { defined } from '../kit/index.ts';
import { setMaxListeners } from 'node:events';
import { uuidv7 } from 'uuidv7';
import type { MillraceError } from '../scheduler/core/index.ts';
import type {
  Explanation,
  LeaderAddress,
  NodeId,
  Priority,
  ScheduleId,
} from '../scheduler/core/index.ts';
import type {
  AsOf,
  BulkAction,
  EventShape,
  FlowShape,
  LogShape,
  NodeShape,
  ScheduleShape,
} from '../scheduler/contract/index.ts';
import { startText } from '../tasks/executors/index.ts';
import { checkTokenPath } from '../edge/security/index.ts';
import type {
  ChangedJob,
  DatedJob,
  DatedNodes,
  DatedSchedules,
  DatedTask,
  JobsPage,
  Submitted,
} from './answers.ts';
import { type Call, Caller } from './calls/caller.ts';
import { closed } from './calls/closed.ts';
import { bulkRequest, listQuery } from './calls/jobs-match.ts';
import { jobIdOf, jobPath, nodePath, schedulePath, taskPath } from './calls/paths.ts';
import { objectIn } from './calls/reading.ts';
import { type Query, Servers } from './calls/servers.ts';
import { signalValue } from './calls/signal-value.ts';
import { Transport } from './calls/transport.ts';
import type { EventSubscription } from './client.ts';
import { followEvents, subscribe } from './events.ts';
import { readLogs } from './logs.ts';
import { paceOf } from './options.ts';
import type {
  BulkOptions,
  CallOptions,
  ClientOptions,
  EventsOptions,
  ForkOptions,
  JobRef,
  JobsFilter,
  LogsOptions,
  Limit,
  NewStart,
  NodesOptions,
  JobsMatch,
  Pace,
  RerunOptions,
  SignalOptions,
  SubmitOptions,
  WatchOptions,
} from './options.ts';
import { queuesOver } from './queues.ts';
import type { Queues } from './queues.ts';
import { sendEvent, sendEvents } from './send-event.ts';
import type { NewEvent, SendOptions, SentEvent } from './send-event.ts';
import { QueryCalls } from './sql/query-calls.ts';
import { type SendPortion, sendPortion, submitPortions } from './submit-many.ts';
import { nameIn, traced } from './submit-span.ts';
import { watchJob } from './watch-job.ts';

export type SubmitCall = Pick<SubmitOptions, 'jobId' | keyof CallOptions>;

/**
 * The client of a cluster, as its HTTP API has it: job documents in, the API's own answers out. The command line
 * uses it as it is; `FlowClient` adds what programs know, flows and typed results. Calls may run side by side.
 */
export class HttpClient {
  /** SQL. */
  readonly queries: QueryCalls;
  /** Executors and keys of limits. */
  readonly queues: Queues;
  readonly #pace: Pace;
  readonly #transport: Transport;
  readonly #caller: Caller;
  readonly #life = new AbortController();
  protected readonly limited: Limit = <T extends CallOptions>(options?: T) => {
    const { signal } = this.#life;
    const given = options?.signal;
    const either = given === undefined ? signal : AbortSignal.any([signal, given]);
    return { ...(options as T), signal: either };
  };

  constructor(options: ClientOptions) {
    this.#pace = paceOf(options);
    const servers = new Servers(options.server);
    this.#transport = new Transport(options.tls, this.#pace.clock);
    const { token = null, insecure = false } = options;
    if (token !== null) for (const url of servers.given) checkTokenPath(url, insecure);
    this.#caller = new Caller(this.#transport, servers, this.#pace, { token, insecure });
    this.queries = new QueryCalls(this.#caller, this.#pace, this.limited);
    this.queues = queuesOver(this.#caller, this.limited);
    // Every call that waits listens to it, and there may be thousands.
    setMaxListeners(0, this.#life.signal);
  }

  /** Closes all connections. Pending and later calls reject with this reason. */
  end(reason: Error = closed()): void {
    this.#life.abort(reason);
    this.#transport.close();
  }

  /** The id is chosen here, so however often the call has to be repeated there is one job. */
  submitDocument(document: unknown, options?: SubmitCall): Promise<Submitted> {
    return this.#submit(nameIn(document), '/api/v1/jobs', document, options);
  }

  async #submit(
    name: string,
    path: string,
    body: unknown,
    options: SubmitCall = {},
  ): Promise<Submitted> {
    const { jobId = uuidv7() } = options;
    const isNewId = options.jobId === undefined;
    const answer = await traced(name, jobId, (headers) =>
      this.#caller.call({
        method: 'POST',
        path,
        headers: { ...headers, 'millrace-job-id': jobId },
        body: JSON.stringify(body),
        isRepeatable: true,
        what: 'the submission',
        ...this.limited(options),
      }),
    );
    const { id, state } = objectIn(answer, 'id') as unknown as Submitted;
    // A second try that finds the job may have found what the first one made.
    const isOurs = answer.isRepeated && isNewId && id === jobId;
    return { id, state, isNew: answer.status === 201 || isOurs };
  }

  /** One answer for each document, in order: a refused one does not affect the others. */
  submitDocuments(
    documents: readonly unknown[],
    options?: CallOptions,
  ): Promise<readonly (Submitted | MillraceError)[]> {
    const send: SendPortion = (...portion) => sendPortion(this.#caller, ...portion);
    return submitPortions(send, this.#pace, documents, this.limited(options));
  }

  /** Starts a flow that workers have published. `body` is the input and fields of the job. */
  startFlow(flow: string, body: object, options?: SubmitCall): Promise<Submitted> {
    const path = `/api/v1/flows/${encodeURIComponent(flow)}/jobs`;
    return this.#submit(flow, path, body, options);
  }

  /** Starts every flow that listens to the event; however often the call has to be repeated, each one once. */
  sendEvent(event: string, data: unknown, options?: SendOptions): Promise<SentEvent> {
    return sendEvent(this.#caller, this.#pace, event, data, this.limited(options));
  }

  /** One answer for each event, in order. */
  sendEvents(events: readonly NewEvent[], options?: CallOptions): ReturnType<typeof sendEvents> {
    return sendEvents(this.#caller, this.#pace, events, this.limited(options));
  }

  /** One action on all jobs that fit, as a job of its own. */
  submitBulk(
    action: BulkAction,
    match: JobsMatch,
    options: BulkOptions & SubmitCall = {},
  ): Promise<Submitted> {
    return this.#submit('bulk', '/api/v1/bulk', bulkRequest(action, match, options), options);
  }

  async listFlows(options?: CallOptions): Promise<readonly FlowShape[]> {
    const { flows } = await this.#get<{ readonly flows: readonly FlowShape[] }>(
      'flows',
      '/api/v1/flows',
      options,
    );
    return flows;
  }

  job(job: JobRef, options?: CallOptions): Promise<DatedJob> {
    return this.#get('tasks', jobPath(job), options);
  }

  /** One task with its input, steps, placement and lease. */
  task(job: JobRef, task: string, options?: CallOptions): Promise<DatedTask> {
    return this.#get('lease', taskPath(job, task), options);
  }

  /** Page after page, newest job first. */
  async *jobPages(filter: JobsFilter = {}): AsyncGenerator<JobsPage, void> {
    const query = listQuery(filter);
    for (let cursor: string | null | undefined = filter.cursor; cursor !== null;) {
      const all = { ...query, ...defined({ cursor }) };
      const page: JobsPage = await this.#get('jobs', '/api/v1/jobs', filter, all);
      yield page;
      ({ cursor } = page);
    }
  }

  cancel(job: JobRef, reason?: string, options?: CallOptions): Promise<DatedJob> {
    const body = reason === undefined ? {} : { reason };
    return this.#post('id', `${jobPath(job)}/cancel`, body, 'the cancellation', options);
  }

  async remove(job: JobRef, options?: CallOptions): Promise<void> {
    await this.#delete(jobPath(job), 'the removal', options);
  }

  setPriority(job: JobRef, priority: Priority, options?: CallOptions): Promise<ChangedJob> {
    const path = `${jobPath(job)}/priority`;
    return this.#post('changed', path, { priority }, 'the priority', options);
  }

  reschedule(job: JobRef, start: NewStart, options?: CallOptions): Promise<ChangedJob> {
    const body = { runAt: startText(start, Date.now()) };
    return this.#post('changed', `${jobPath(job)}/reschedule`, body, 'the new time', options);
  }

  /** From the tasks that did not succeed. It happens once, however often the call is repeated. */
  async rerun(job: JobRef, options: RerunOptions = {}): Promise<DatedJob> {
    const expectedRun = options.expectedRun ?? (await this.job(job, options)).run;
    return this.#post('id', `${jobPath(job)}/rerun`, { expectedRun }, 'the rerun', options);
  }

  /** A new job: what lies at or below the task runs again; everything else that succeeded is taken over. */
  forkJob(job: JobRef, from: string, options: ForkOptions = {}): Promise<DatedJob> {
    return this.#ask('id', {
      method: 'POST',
      path: `${jobPath(job)}/fork`,
      headers: { 'millrace-job-id': options.jobId ?? uuidv7() },
      // An input that is undefined is left out.
      body: JSON.stringify({ from, input: options.input }),
      isRepeatable: true,
      what: 'the fork',
      ...this.limited(options),
    });
  }

  redrive(job: JobRef, task: string, options?: CallOptions): Promise<DatedJob> {
    return this.#post('id', `${taskPath(job, task)}/redrive`, undefined, 'the redrive', options);
  }

  /** Accepted once, however often the call is repeated: it has its own id. */
  async signal(
    job: JobRef,
    name: string,
    value?: unknown,
    options: SignalOptions = {},
  ): Promise<DatedJob> {
    return this.#ask('id', {
      method: 'POST',
      path: `${jobPath(job)}/signals/${encodeURIComponent(name)}`,
      headers: { 'idempotency-key': options.signalId ?? uuidv7() },
      body: JSON.stringify(signalValue(name, value)),
      isRepeatable: true,
      what: 'the signal',
      ...this.limited(options),
    });
  }

  /** Why a task waits, as the leader sees it. */
  explain(job: JobRef, task: string, options?: CallOptions): Promise<Explanation> {
    return this.#get('why', `${taskPath(job, task)}/explain`, options);
  }

  /** The number of the last event. */
  async head(options?: CallOptions): Promise<AsOf> {
    return (await this.#get<JobsPage>('asOf', '/api/v1/jobs', options, { limit: '1' })).asOf;
  }

  /** Throws `expired` when what comes after `after` is no longer kept. */
  async *events(options: EventsOptions = {}): AsyncGenerator<EventShape, void> {
    // Asked once: a stream that breaks before its first event must not start at a later now.
    const after = options.after ?? (await this.head(options)).seq;
    const job = options.job === undefined ? undefined : jobIdOf(options.job);
    yield* followEvents(this.#caller, this.#pace, { ...this.limited(options), after, job });
  }

  onEvent(
    fn: (event: EventShape) => void | Promise<void>,
    options: Omit<EventsOptions, 'signal'> = {},
  ): EventSubscription {
    return subscribe((signal) => this.events({ retriesForever: true, ...options, signal }), fn);
  }

  /** What its tasks have printed. */
  logs(job: JobRef, options: LogsOptions = {}): AsyncGenerator<LogShape, void> {
    return readLogs(this.#caller, this.#pace, jobIdOf(job), this.limited(options));
  }

  /** The events of a job until it ends, however long the cluster is away; the generator returns the ended job. */
  watch(job: JobRef, options: WatchOptions = {}): AsyncGenerator<EventShape, DatedJob> {
    const { after = 0, retriesForever = true } = options;
    return watchJob(this, this.#pace, jobIdOf(job), {
      ...this.limited(options),
      after,
      retriesForever,
    });
  }

  /** Waits for the end of a job, however it ends. */
  async ended(job: JobRef, options?: CallOptions): Promise<DatedJob> {
    const watching = watchJob(this, this.#pace, jobIdOf(job), this.limited(options));
    for (;;) {
      const next = await watching.next();
      if (next.done === true) return next.value;
    }
  }

  listNodes(options: NodesOptions = {}): Promise<DatedNodes> {
    const { executor, operator, capability, ...call } = options;
    const query = defined({ executor, operator, capability });
    return this.#get('nodes', '/api/v1/nodes', call, query);
  }

  /** The node takes no more work and gives back what it has not begun. */
  drain(id: NodeId, options?: CallOptions): Promise<NodeShape> {
    return this.#post('id', `${nodePath(id)}/drain`, undefined, 'the drain', options);
  }

  /** Out of quarantine, or back from a drain. */
  release(id: NodeId, options?: CallOptions): Promise<NodeShape> {
    return this.#post('id', `${nodePath(id)}/release`, undefined, 'the release', options);
  }

  leader(options?: CallOptions): Promise<LeaderAddress> {
    return this.#get('nodeId', '/api/v1/leader', options);
  }

  listSchedules(options?: CallOptions): Promise<DatedSchedules> {
    return this.#get('schedules', '/api/v1/schedules', options);
  }

  putSchedule(id: ScheduleId, spec: unknown, options?: CallOptions): Promise<ScheduleShape> {
    return this.#ask('id', {
      method: 'PUT',
      path: schedulePath(id),
      body: JSON.stringify(spec),
      isRepeatable: true,
      what: 'the schedule',
      ...this.limited(options),
    });
  }

  async deleteSchedule(id: ScheduleId, options?: CallOptions): Promise<void> {
    await this.#delete(schedulePath(id), 'the deletion', options);
  }

  changeSchedule<Answer = ScheduleShape>(
    id: ScheduleId,
    change: 'pause' | 'resume' | 'trigger' | 'backfill',
    options?: CallOptions,
    body?: object,
  ): Promise<Answer> {
    const isRepeatable = change !== 'trigger' || body !== undefined;
    const path = `${schedulePath(id)}/${change}`;
    return this.#post('id', path, body, `the ${change}`, options, isRepeatable);
  }

  #get<T>(
    key: string,
    path: string,
    options: CallOptions | undefined,
    query: Query = {},
  ): Promise<T> {
    const { signal, retriesForever } = this.limited(options);
    const about = { isRepeatable: true, what: 'it', retriesForever, signal };
    return this.#ask<T>(key, { method: 'GET', path, query, ...about });
  }

  async #delete(path: string, what: string, options: CallOptions | undefined): Promise<void> {
    const about = { isRepeatable: true, what, ...this.limited(options) };
    await this.#caller.call({ method: 'DELETE', path, ...about });
  }

  #post<T>(
    key: string,
    path: string,
    body: unknown,
    what: string,
    options: CallOptions | undefined,
    isRepeatable = true,
  ): Promise<T> {
    const { signal, retriesForever } = this.limited(options);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const about = { isRepeatable, what, retriesForever, signal };
    return this.#ask<T>(key, { method: 'POST', path, ...content, ...about });
  }

  /** The answer is what the caller expects if it is an object with this field. */
  async #ask<T>(key: string, call: Call): Promise<T> {
    return objectIn(await this.#caller.call(call), key) as T;
  }
}
