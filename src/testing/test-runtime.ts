/** Flows under test: submitted, driven through virtual time, crashed, looked at. */
import { MillraceError, withJobFields, isFinished, isObject } from '../scheduler/core/index.ts';
import type { Explanation, JobId, Json, Priority, TaskId } from '../scheduler/core/index.ts';
import {
  ExecutorRegistry,
  FatalError,
  builtIns,
  definitionsOf,
  startText,
  submitFields,
} from '../tasks/executors/index.ts';
import type { Executor, TaskDefinition, TaskLog } from '../tasks/executors/index.ts';
import { submissionOf } from '../tasks/flow/index.ts';
import { VirtualClock, durationMs } from '../kit/index.ts';
import type { Duration } from '../kit/index.ts';
import type { JobReply, JobShape } from '../scheduler/contract/index.ts';
import { JobError } from '../client/index.ts';
import type {
  Document,
  JobRef,
  JobsMatch,
  NewEvent,
  Queues,
  ResultOfJob,
  Schedules,
  SendOptions,
  SentJobs,
  SubmitArguments,
  NewStart,
  SubmitOptions,
  Submittable,
} from '../client/index.ts';
import { unhurried } from './ages.ts';
import { CrashPlan } from './crashes.ts';
import type { CrashPoint } from './crashes.ts';
import { fakesIn } from './fakes.ts';
import { Fleet } from './fleet.ts';
import { History } from './history.ts';
import type { Execution } from './history.ts';
import { standstillOf } from './standstill.ts';
import { sendAllInMemory, sendInMemory } from './test-events.ts';
import type { TestJob, TestRuntimeOptions, TestSubmit } from './test-job.ts';
import { leadInMemory } from './test-leader.ts';
import type { LedStore } from './test-leader.ts';
import { testFilter } from './test-filter.ts';
import { testQueues } from './test-queues.ts';
import { testSchedules } from './test-schedules.ts';
import { VirtualTime } from './time.ts';

type Read<O> = (result: Json) => O | Promise<O>;

const START_AT = '2030-01-01T00:00:00Z';
const REAL_TIMEOUT_MS = 500;
const SILENT: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };
/** DuckDB works in real time and in processes of its own: a test says what the query finds. */
const NO_SQL: Executor = {
  name: 'sql',
  run() {
    throw Object.assign(
      new FatalError(
        "a test runtime does not run SQL; provide the result: fakes: { sql: () => ({ queryId: 'q', columns: [], rows: [] }) }",
      ),
      { code: 'unimplemented' },
    );
  },
};
const JOBS_MAX = 1_000;
/** Runs of schedules while one job is waited for. */
const FIRINGS_MAX = 200;

export class TestRuntime {
  readonly #time: VirtualTime;
  readonly #clock: VirtualClock;
  readonly #led: LedStore;
  readonly #plan: CrashPlan;
  readonly #history: History;
  readonly #fleet: Fleet;
  readonly #realTimeoutMs: number;
  readonly #definitions: Map<string, TaskDefinition> = new Map();
  readonly #readers: WeakMap<object, (result: Json) => unknown> = new WeakMap();
  /** With the schedules of a client. Time passes for them with `advance`. */
  readonly schedules: Schedules;
  /** As those of a client: what is paused does not start, however much time passes. */
  readonly queues: Queues;
  #jobs = 0;

  /** `createTestRuntime` makes one. */
  static async start(options: TestRuntimeOptions): Promise<TestRuntime> {
    const { slots = 8, realTimeoutMs = REAL_TIMEOUT_MS, settings = {}, log = SILENT } = options;
    const clock = new VirtualClock();
    const history = new History();
    const time = new VirtualTime({ clock, realTimeoutMs, atWork: () => history.atWork });
    const onMoved = (): void => time.moved();
    const startAtMs = new Date(options.startAt ?? START_AT).getTime();
    if (!Number.isFinite(startAtMs))
      throw bad(`startAt ${String(options.startAt)} is not a valid time`);
    const led = await leadInMemory({
      clock,
      settings: unhurried(settings),
      startAtMs,
      onCommitted: onMoved,
    });
    const plan = new CrashPlan();
    const executors = new ExecutorRegistry();
    const { workers: leader } = led.leader;
    const fleet = new Fleet({ clock, slots, log, leader, executors, history, plan, onMoved });
    for (const each of fakesIn(options.fakes ?? {})) fleet.learn(each);
    // A server that a test has started is on its own machine.
    for (const executor of builtIns(clock, { allowPrivateHttp: true })) fleet.learn(executor);
    fleet.learn(NO_SQL);
    const runtime = new TestRuntime({ clock, time, led, plan, history, fleet, realTimeoutMs });
    const { flows = [] } = options;
    runtime.#learn([...(options.tasks ?? []), ...flows].flatMap((each) => definitionsOf(each)));
    for (const flow of flows) fleet.learnFlow(flow);
    for (const task of options.tasks ?? []) executors.publish(task);
    await fleet.start();
    return runtime;
  }

  private constructor(parts: {
    readonly clock: VirtualClock;
    readonly time: VirtualTime;
    readonly led: LedStore;
    readonly plan: CrashPlan;
    readonly history: History;
    readonly fleet: Fleet;
    readonly realTimeoutMs: number;
  }) {
    this.#clock = parts.clock;
    this.#time = parts.time;
    this.#led = parts.led;
    this.#plan = parts.plan;
    this.#history = parts.history;
    this.#fleet = parts.fleet;
    this.#realTimeoutMs = parts.realTimeoutMs;
    this.queues = testQueues(this.#led.leader.queues);
    this.schedules = testSchedules({
      service: this.#led.leader.schedules,
      read: this.#led.schedules,
      offer: (what) => this.#offer(definitionsOf(what)),
    });
  }

  /** Submits a flow or a task with its input, or a job document. Nothing has run when it answers. */
  readonly submit: TestSubmit = async <What extends Submittable>(
    what: What,
    ...[input, options = {}]: SubmitArguments<What>
  ): Promise<TestJob<ResultOfJob<What>>> => {
    const { document, tasks, readResult } = await submissionOf(what, input);
    await this.#offer(tasks);
    return this.#submit(document, options, readResult as Read<ResultOfJob<What>>);
  };

  /** Starts one of the runtime's `flows` or `tasks` by its name, as a client without its code would. */
  start(flow: string, input?: unknown, options: SubmitOptions = {}): Promise<TestJob<Json>> {
    const document = { flow, ...(input === undefined ? {} : { input }) };
    return this.#submit(document, options, (result) => result);
  }

  /** Sends an event to the runtime's `flows`, `tasks` and jobs, as `client.send` does. Nothing has run when it answers. */
  send(event: string, data?: unknown, options: SendOptions = {}): Promise<SentJobs> {
    const newId = (): JobId => this.#nextJobId();
    return sendInMemory(this.#led.leader.jobs, newId, event, data, options);
  }

  /** Sends several events, one after the other; one that is refused has an error in its place. */
  sendMany(events: readonly NewEvent[]): Promise<readonly (SentJobs | Error)[]> {
    return sendAllInMemory(events, ({ event, data, ...options }) =>
      this.send(event, data, options),
    );
  }

  async #submit<O>(document: Document, options: SubmitOptions, read: Read<O>): Promise<TestJob<O>> {
    const { jobId = this.#nextJobId() } = options;
    const reply = await this.#led.leader.jobs.submit(
      withJobFields(document, submitFields(options, this.#led.now())),
      {
        jobId: jobId as JobId,
        isFresh: options.jobId === undefined,
      },
    );
    return this.#testJob(reply, read);
  }

  #nextJobId(): JobId {
    this.#jobs += 1;
    return `job-${this.#jobs}` as JobId;
  }

  #testJob<O>({ jobId: id, changed }: JobReply, read: Read<O>): TestJob<O> {
    const job: TestJob<O> = {
      id,
      isNew: changed,
      result: async () => read(await this.result(id)),
      job: () => this.job(id),
      signal: (signalName, value) => this.signal(id, signalName, value),
      cancel: (reason) => this.cancel(id, reason),
    };
    this.#readers.set(job, read);
    return job;
  }

  /** The job with all its tasks, as it stands. */
  async job(job: JobRef): Promise<JobShape> {
    const id = idOf(job);
    const found = await this.#led.job(id);
    if (found !== null) return found;
    throw new MillraceError({ code: 'not_found', what: `There is no job ${id}.` });
  }

  /** Why a task waits, in words such as those of `millrace explain`; null if its job has ended. */
  async explain(job: JobRef, task: string): Promise<Explanation | null> {
    return this.#led.leader.jobs.explain(idOf(job), task as TaskId);
  }

  /**
   * Lets time pass until the job has ended, and answers its result. Throws a `JobError` when it did not
   * succeed, and a `StandstillError` when no time that passes can end it.
   */
  result<O>(job: TestJob<O>): Promise<O>;
  result(job: string): Promise<Json>;
  async result(job: JobRef & { result?: () => Promise<unknown> }): Promise<unknown> {
    if (typeof job !== 'string' && job.result !== undefined) return job.result();
    const id = idOf(job);
    await this.job(id);
    const firedBefore = this.#led.fired();
    // Schedules fire for ever: a job that did not end in all that time waits for something else.
    const isHopeless = (): boolean => this.#led.fired() - firedBefore > FIRINGS_MAX;
    const isOver = async (): Promise<boolean> =>
      isHopeless() || isFinished((await this.job(id)).state);
    const ended = (await this.#time.drive(isOver)) ? await this.job(id) : null;
    if (ended === null || !isFinished(ended.state))
      throw await standstillOf(this.#led, id, this.#realTimeoutMs);
    if (ended.state !== 'succeeded') throw new JobError(ended);
    return ended.result;
  }

  /** Tells a live job something; a `ctx.waitFor` of that name takes it when time goes on. */
  async signal(job: JobRef, name: string, value: unknown = null): Promise<void> {
    const body = JSON.stringify(value);
    if (body === undefined) throw bad(`The value of signal ${name} is not valid JSON`);
    this.#jobs += 1;
    await this.#led.leader.jobs.signal(idOf(job), name, body, `signal-${this.#jobs}`);
  }

  async cancel(job: JobRef, reason = 'asked for by the test'): Promise<void> {
    await this.#led.leader.jobs.cancel(idOf(job), reason);
  }

  /** An ended job, with all that is stored of it. */
  async remove(job: JobRef): Promise<void> {
    await this.#led.leader.jobs.remove(idOf(job));
  }

  /** 0 is urgent, 3 is low. False if nothing has changed: it has ended, or has that priority. */
  async setPriority(job: JobRef, priority: Priority): Promise<boolean> {
    return (await this.#led.leader.jobs.setPriority(idOf(job), priority)).changed;
  }

  /** A job whose `runAt` lies ahead starts at another time, or `now`. False if it has begun or ended. */
  async reschedule(job: JobRef, start: NewStart): Promise<boolean> {
    const runAt = startText(start, this.#led.now());
    return (await this.#led.leader.jobs.reschedule(idOf(job), runAt)).changed;
  }

  /** Runs again what did not succeed, and keeps what did. */
  async rerun(job: JobRef): Promise<void> {
    await this.#led.leader.jobs.rerun(idOf(job));
  }

  /** One task that is out of attempts, and what was skipped because of it. */
  async redrive(job: JobRef, task: string): Promise<void> {
    await this.#led.leader.jobs.redrive(idOf(job), task as TaskId);
  }

  /** A new job from the same document: what lies at or below the task runs again, the rest is taken over. */
  fork<O>(job: TestJob<O>, from: string): Promise<TestJob<O>>;
  fork(job: string, from: string): Promise<TestJob<Json>>;
  async fork(job: JobRef, from: string): Promise<TestJob<unknown>> {
    const read = typeof job === 'string' ? undefined : this.#readers.get(job);
    const { jobs } = this.#led.leader;
    const reply = await jobs.fork(idOf(job), from as TaskId, this.#nextJobId());
    return this.#testJob(reply, read ?? ((result) => result));
  }

  /** Ids of jobs, the newest first: those of a name, those that wait for a signal (`*` for any), those of a time, or all. */
  async jobs(match: string | JobsMatch = {}): Promise<readonly string[]> {
    const filter = testFilter(typeof match === 'string' ? { name: match } : match);
    const rows = await this.#led.store.jobs(0, { limit: JOBS_MAX, ...filter });
    return rows.map(({ id }) => id);
  }

  /** Lets so much time pass, whatever happens meanwhile: `advance('3d')`. */
  async advance(duration: Duration): Promise<void> {
    const ms = durationMs(duration);
    if (ms === null) throw bad(`${JSON.stringify(duration)} is not a valid duration`);
    const untilMs = this.#clock.monotonicMs() + ms;
    await this.#time.drive(() => Promise.resolve(false), untilMs);
    // What became due at the very end happens, too.
    await this.#time.drive(() => Promise.resolve(true));
  }

  /** Lets time pass until it can bring nothing further: all jobs have ended, or wait for signals. */
  async settle(): Promise<void> {
    const active = (await this.#led.schedules()).find(
      (each) => !each.paused && each.nextAt !== null && !hasEnd(each.spec),
    );
    if (active !== undefined)
      throw bad(`The schedule ${active.id} fires for ever: use advance, or pause it`);
    await this.#time.drive(() => Promise.resolve(false));
  }

  /** Virtual time. */
  now(): Date {
    return new Date(this.#led.now());
  }

  /**
   * Plans a crash: when a worker comes to this point, it dies there, with all that it runs, and another
   * one goes on. Each call is one crash.
   */
  crash(point: CrashPoint): void {
    this.#plan.add(point);
  }

  /** Crashes that were planned and have not happened. */
  get crashesLeft(): readonly CrashPoint[] {
    return [...this.#plan.open];
  }

  /** Every execution of a task so far, in order. */
  ran(task: string, job?: JobRef): readonly Execution[] {
    return this.#history.of(task, job === undefined ? undefined : idOf(job));
  }

  /** The steps of a task whose functions were called so far, in order, over all its executions. */
  stepsRun(task: string, job?: JobRef): readonly string[] {
    return this.ran(task, job).flatMap(({ steps }) => steps);
  }

  /** Nothing runs any more. There is nothing else to let go: a test may leave it out. */
  async close(): Promise<void> {
    this.#fleet.stop();
    const what = 'The test runtime was closed.';
    await this.#led.leader.end(new MillraceError({ code: 'shutting_down', what }));
    await this.#led.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #offer(tasks: readonly TaskDefinition[]): Promise<void> {
    if (this.#learn(tasks)) await this.#fleet.announce();
  }

  /** True when there was something new. */
  #learn(tasks: readonly TaskDefinition[]): boolean {
    const before = this.#definitions.size;
    for (const task of tasks) {
      const known = this.#definitions.get(task.name);
      if (known === task) continue;
      if (known !== undefined) throw bad(`Two different tasks have the name ${task.name}`);
      this.#fleet.learn(task);
      this.#definitions.set(task.name, task);
    }
    return this.#definitions.size > before;
  }
}

/**
 * A runtime for tests: in memory, in this thread, on a virtual clock. `result` lets time pass by itself,
 * so a sleep of three days takes milliseconds.
 */
export function createTestRuntime(options: TestRuntimeOptions = {}): Promise<TestRuntime> {
  return TestRuntime.start(options);
}

const hasEnd = (spec: Json): boolean => isObject(spec) && ('endAt' in spec || 'maxRuns' in spec);

function idOf(job: JobRef): JobId {
  return (typeof job === 'string' ? job : job.id) as JobId;
}

function bad(what: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what: `${what}.` });
}
