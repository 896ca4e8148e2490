import { uuidv7 } from 'uuidv7';
import type {
  Explanation,
  JobId,
  Json,
  LeaderAddress,
  MillraceError,
  NodeId,
  ScheduleId,
  TaskId,
} from '../../scheduler/core/index.ts';
import type { AsOf, EventShape, NodeShape, ScheduleShape } from '../../scheduler/contract/index.ts';
import type {
  CallOptions,
  DatedJob,
  DatedNodes,
  DatedSchedules,
  DeadTasksPage,
  EventsOptions,
  ForkOptions,
  JobsFilter,
  JobsPage,
  RerunOptions,
  SignalOptions,
  SubmitOptions,
  Submitted,
  WatchOptions,
} from './answers.ts';
import { checkTokenPath } from '../../edge/security/index.ts';
import { type Call, Caller, FIRST_TRY } from './caller.ts';
import { followEvents } from './events.ts';
import { type ClientOptions, type Pace, paceOf } from './options.ts';
import { QueryCalls } from './query-calls.ts';
import { objectIn } from './reading.ts';
import { Servers } from './servers.ts';
import { submitPortions } from './submitting.ts';
import { Transport } from './transport.ts';
import { watchJob } from './watching.ts';

/** One client for a cluster. Calls may run side by side; `close` lets the connections go. */
export class HttpClient {
  /** SQL. */
  readonly queries: QueryCalls;
  readonly #pace: Pace;
  readonly #transport: Transport;
  readonly #caller: Caller;

  constructor(options: ClientOptions) {
    this.#pace = paceOf(options);
    const servers = new Servers(options.server);
    this.#transport = new Transport(options.tls, this.#pace.clock);
    const { token = null, insecure = false } = options;
    if (token !== null) for (const url of servers.given) checkTokenPath(url, insecure);
    this.#caller = new Caller(this.#transport, servers, this.#pace, { token, insecure });
    this.queries = new QueryCalls(this.#caller, this.#pace);
  }

  close(): void {
    this.#transport.close();
  }

  /** The id is chosen here, so however often the call has to be repeated there is one job. */
  async submit(document: unknown, options: SubmitOptions = {}): Promise<Submitted> {
    const { jobId = uuidv7() as JobId, signal } = options;
    const isOwnId = options.jobId === undefined;
    const answer = await this.#caller.call({
      method: 'POST',
      path: '/api/v1/jobs',
      headers: { 'millrace-job-id': jobId },
      ...(isOwnId ? { firstHeaders: FIRST_TRY } : {}),
      body: JSON.stringify(document),
      isRepeatable: true,
      what: 'the submission',
      signal,
    });
    const { id, state } = objectIn(answer, 'id') as unknown as Submitted;
    // A second try that finds the job may have found what the first one made.
    const isOurs = answer.isRepeated && isOwnId && id === jobId;
    return { id, state, isNew: answer.status === 201 || isOurs };
  }

  /** One answer for each document, in order: one that is refused does not sink the others. */
  submitAll(
    documents: readonly unknown[],
    options: CallOptions = {},
  ): Promise<readonly (Submitted | MillraceError)[]> {
    return submitPortions(this.#caller, this.#pace, documents, options);
  }

  job(id: JobId, options: CallOptions = {}): Promise<DatedJob> {
    return this.#get('tasks', jobPath(id), options);
  }

  /** Page after page, newest job first. */
  async *jobs(filter: JobsFilter = {}): AsyncGenerator<JobsPage, void> {
    const { signal, state, name, limit } = filter;
    const query = {
      ...(state === undefined ? {} : { state }),
      ...(name === undefined ? {} : { name }),
      ...(limit === undefined ? {} : { limit: String(limit) }),
    };
    for (let cursor: string | null | undefined = filter.cursor; cursor !== null;) {
      const from: Record<string, string> = cursor === undefined ? {} : { cursor };
      const page: JobsPage = await this.#get(
        'jobs',
        '/api/v1/jobs',
        { signal },
        { ...query, ...from },
      );
      yield page;
      ({ cursor } = page);
    }
  }

  cancel(id: JobId, reason?: string, options: CallOptions = {}): Promise<DatedJob> {
    const body = reason === undefined ? {} : { reason };
    return this.#post('id', `${jobPath(id)}/cancel`, body, 'the cancellation', options);
  }

  /** From the tasks that did not succeed. It happens once, however often the call is repeated. */
  async rerun(id: JobId, options: RerunOptions = {}): Promise<DatedJob> {
    const expectedRun = options.expectedRun ?? (await this.job(id, options)).run;
    return this.#post('id', `${jobPath(id)}/rerun`, { expectedRun }, 'the rerun', options);
  }

  fork(id: JobId, { from, jobId, signal }: ForkOptions): Promise<DatedJob> {
    return this.#ask('id', {
      method: 'POST',
      path: `${jobPath(id)}/fork`,
      headers: { 'millrace-job-id': jobId ?? uuidv7() },
      body: JSON.stringify({ from }),
      isRepeatable: true,
      what: 'the fork',
      signal,
    });
  }

  redrive(id: JobId, task: TaskId, options: CallOptions = {}): Promise<DatedJob> {
    return this.#post('id', `${taskPath(id, task)}/redrive`, undefined, 'the redrive', options);
  }

  /** It is taken in once, however often the call is repeated: it carries an id of its own. */
  signal(id: JobId, name: string, value: Json, options: SignalOptions = {}): Promise<DatedJob> {
    const { signalId = uuidv7(), signal } = options;
    return this.#ask('id', {
      method: 'POST',
      path: `${jobPath(id)}/signals/${encodeURIComponent(name)}`,
      headers: { 'idempotency-key': signalId },
      body: JSON.stringify(value),
      isRepeatable: true,
      what: 'the signal',
      signal,
    });
  }

  /** Why a task waits, as the leader sees it. */
  explain(id: JobId, task: TaskId, options: CallOptions = {}): Promise<Explanation> {
    return this.#get('why', `${taskPath(id, task)}/explain`, options);
  }

  /** Tasks that are out of attempts, page after page. */
  async *deadTasks(options: CallOptions = {}): AsyncGenerator<DeadTasksPage, void> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const from: Record<string, string> = cursor === undefined ? {} : { cursor };
      const query = { dead: 'true', ...from };
      const page: DeadTasksPage = await this.#get('tasks', '/api/v1/tasks', options, query);
      yield page;
      ({ cursor } = page);
    }
  }

  /** The number of the last event. */
  async head(options: CallOptions = {}): Promise<AsOf> {
    return (await this.#get<JobsPage>('asOf', '/api/v1/jobs', options, { limit: '1' })).asOf;
  }

  /** Throws `expired` when what comes after `after` is no longer kept. */
  async *events(options: EventsOptions = {}): AsyncGenerator<EventShape, void> {
    // Asked once: a stream that breaks before its first event must not start at a later now.
    const after = options.after ?? (await this.head(options)).seq;
    yield* followEvents(this.#caller, this.#pace, { ...options, after });
  }

  /** What happens to a job until it ends; the generator's own result is the job as it ended. */
  watch(id: JobId, options: WatchOptions = {}): AsyncGenerator<EventShape, DatedJob> {
    return watchJob(this, this.#pace, id, options);
  }

  /** Waits for the end of a job, however it ends. */
  async result(id: JobId, options: CallOptions = {}): Promise<DatedJob> {
    const watching = this.watch(id, options);
    for (;;) {
      const next = await watching.next();
      if (next.done === true) return next.value;
    }
  }

  nodes(options: CallOptions = {}): Promise<DatedNodes> {
    return this.#get('nodes', '/api/v1/nodes', options);
  }

  /** The node takes no more work and gives back what it has not begun. */
  drain(id: NodeId, options: CallOptions = {}): Promise<NodeShape> {
    return this.#post('id', `${nodePath(id)}/drain`, undefined, 'the drain', options);
  }

  /** Out of quarantine, or back from a drain. */
  release(id: NodeId, options: CallOptions = {}): Promise<NodeShape> {
    return this.#post('id', `${nodePath(id)}/release`, undefined, 'the release', options);
  }

  leader(options: CallOptions = {}): Promise<LeaderAddress> {
    return this.#get('nodeId', '/api/v1/leader', options);
  }

  schedules(options: CallOptions = {}): Promise<DatedSchedules> {
    return this.#get('schedules', '/api/v1/schedules', options);
  }

  putSchedule(id: ScheduleId, spec: unknown, options: CallOptions = {}): Promise<ScheduleShape> {
    return this.#ask('id', {
      method: 'PUT',
      path: schedulePath(id),
      body: JSON.stringify(spec),
      isRepeatable: true,
      what: 'the schedule',
      signal: options.signal,
    });
  }

  async deleteSchedule(id: ScheduleId, options: CallOptions = {}): Promise<void> {
    await this.#caller.call({
      method: 'DELETE',
      path: schedulePath(id),
      isRepeatable: true,
      what: 'the deletion',
      signal: options.signal,
    });
  }

  changeSchedule(
    id: ScheduleId,
    change: 'pause' | 'resume' | 'trigger',
    options: CallOptions = {},
  ): Promise<ScheduleShape> {
    const path = `${schedulePath(id)}/${change}`;
    return this.#post('id', path, undefined, `the ${change}`, options, change !== 'trigger');
  }

  #get<T>(
    key: string,
    path: string,
    { signal, retriesForever }: CallOptions,
    query: Readonly<Record<string, string>> = {},
  ): Promise<T> {
    return this.#ask<T>(key, {
      method: 'GET',
      path,
      query,
      isRepeatable: true,
      what: 'it',
      retriesForever,
      signal,
    });
  }

  #post<T>(
    key: string,
    path: string,
    body: unknown,
    what: string,
    { signal }: CallOptions,
    isRepeatable = true,
  ): Promise<T> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#ask<T>(key, { method: 'POST', path, ...content, isRepeatable, what, signal });
  }

  /** The answer is what the caller expects if it is an object with this field. */
  async #ask<T>(key: string, call: Call): Promise<T> {
    return objectIn(await this.#caller.call(call), key) as T;
  }
}

function jobPath(id: JobId): string {
  return `/api/v1/jobs/${encodeURIComponent(id)}`;
}

function taskPath(id: JobId, task: TaskId): string {
  return `${jobPath(id)}/tasks/${encodeURIComponent(task)}`;
}

function nodePath(id: NodeId): string {
  return `/api/v1/nodes/${encodeURIComponent(id)}`;
}

function schedulePath(id: ScheduleId): string {
  return `/api/v1/schedules/${encodeURIComponent(id)}`;
}
