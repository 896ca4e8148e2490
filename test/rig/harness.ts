/**
 * Drives the pure core in virtual time, without stores and without promises. Every event is one
 * step and one commit: its batch goes to rows in memory, its replies to whoever asked, and then
 * all that must always hold is checked. `restart` drops the memory and loads it from the
 * rows, as a new leader does, so a test can do it anywhere and expect to notice nothing.
 */
import {
  Effects,
  SchedulerState,
  checkedSettings,
  explain,
  instant,
  isFinished,
  keyScope,
  parseJobDocument,
  parseScheduleSpec,
  restoreCluster,
  restoreDone,
  restoreJob,
  step,
} from '../../src/scheduler/core/index.ts';
import type {
  Ask,
  Batch,
  Calendar,
  ChangeSchedule,
  EventRow,
  Explanation,
  Instant,
  JobId,
  JobImage,
  JobRow,
  LogKind,
  NodeId,
  Reply,
  JobReply,
  ReplyBody,
  ScheduleId,
  SchedulerEvent,
  Seed,
  Settings,
  TaskDocument,
  TaskId,
  TaskNo,
  TaskRef,
  TaskRow,
  TermId,
} from '../../src/scheduler/core/index.ts';
import { DurableRows } from './harness/durable-rows.ts';
import { everyCalendar } from './harness/every-calendar.ts';
import { checkInvariants, couldRun } from './harness/invariants.ts';
import { asFragments, withOwnOptions } from './harness/raw-tasks.ts';
import type { OwnOptions } from './harness/raw-tasks.ts';
import { ScriptedNode } from './harness/scripted-node.ts';
import type { NodeOptions, Unasked } from './harness/scripted-node.ts';

export { echo, echoes } from './harness/raw-tasks.ts';

export interface HarnessOptions {
  readonly settings?: Partial<Settings>;
  readonly calendar?: Calendar;
  /** False for workloads so large that a check after every step would take the time. */
  readonly checks?: boolean;
  /** Few by default, so that every test meets packed jobs. */
  readonly unpackedJobs?: number;
}

export interface SubmitOptions {
  readonly id?: string;
  readonly seeds?: Readonly<Record<string, Seed>>;
  readonly inboxNo?: number;
  readonly own?: OwnOptions;
  /** Its tasks are fragments. */
  readonly isQuery?: boolean;
}

const START_MS = 1_000_000_000_000; // zero means "never" in some columns

export class Harness {
  readonly settings: Settings;
  rows: DurableRows = new DurableRows();
  state: SchedulerState;
  now: Instant = instant(START_MS);
  /** Every batch that was committed, if a test wants them. */
  onCommit: (batch: Batch) => void = () => {};
  readonly #options: Required<Pick<HarnessOptions, 'calendar' | 'unpackedJobs'>>;
  readonly #checks: boolean;
  readonly #replies: Map<number, ReplyBody> = new Map();
  #terms = 0;
  #asks = 0;
  #jobs = 0;
  #ids = 0;
  constructor(options: HarnessOptions = {}) {
    this.settings = checkedSettings(options.settings);
    const { calendar = everyCalendar, unpackedJobs = 1, checks = true } = options;
    this.#options = { calendar, unpackedJobs };
    this.#checks = checks;
    this.state = this.#freshState();
  }

  // Nodes and time

  node(id: string, options: NodeOptions = {}): ScriptedNode {
    return new ScriptedNode(this, id, options);
  }

  later(ms: number): Instant {
    return instant(this.now + ms);
  }

  /** Lets time pass: a tick for each timer that comes due, at its time. */
  advance(ms: number): void {
    const until = this.later(ms);
    for (;;) {
      const next = this.state.nextWakeAt();
      if (next === null || next > until) break;
      this.now = instant(Math.max(this.now, next));
      this.tick();
    }
    this.now = until;
    this.tick();
  }

  tick(): void {
    this.send({ type: 'tick' });
    this.assign();
  }

  assign(): void {
    this.send({ type: 'assign' });
  }

  // Jobs

  /** Submits a raw document; its name is the job's id unless another is given. */
  submit(raw: Readonly<Record<string, unknown>>, options: SubmitOptions = {}): JobReply {
    const parsed = withOwnOptions(parseJobDocument(raw, this.settings), options.own ?? {});
    const document = options.isQuery === true ? asFragments(parsed) : parsed;
    const key = document.idempotencyKey;
    const existing = key === null ? undefined : this.rows.jobsByKey.get(key);
    if (existing !== undefined && isFinished(existing.row.state)) {
      const { id: jobId, state, run } = existing.row;
      return { jobId, state, run, changed: false };
    }
    this.#jobs += 1;
    const named = typeof raw['name'] === 'string' ? raw['name'] : `job-${this.#jobs}`;
    const seeds = new Map<TaskNo, Seed>();
    for (const [no, { id }] of document.tasks.entries()) {
      const seed = options.seeds?.[id];
      if (seed !== undefined) seeds.set(no as TaskNo, seed);
    }
    return this.#askJob({
      type: 'submit',
      jobId: (options.id ?? named) as JobId,
      document,
      ...this.keysInStore(document.tasks),
      ...(seeds.size === 0 ? {} : { seeds }),
      ...(options.inboxNo === undefined ? {} : { inboxNo: options.inboxNo }),
    });
  }

  /** What the store knows of the execution keys that these tasks name. */
  keysInStore(tasks: readonly TaskDocument[]): KeysInStore {
    const completedKeys = new Set<string>();
    const pendingKeys = new Map<string, TaskRef>();
    for (const { executor, idempotencyKey } of tasks) {
      if (idempotencyKey === null) continue;
      const row = this.rows.keys.get(keyScope(executor, idempotencyKey));
      if (row?.state === 'completed') completedKeys.add(row.scope);
      else if (row !== undefined) pendingKeys.set(row.scope, row);
    }
    return { completedKeys, pendingKeys };
  }

  cancel(job: string, reason = 'asked to'): ReplyBody {
    return this.ask({ type: 'cancel', jobId: job as JobId, reason });
  }

  /** Runs what did not succeed again; a finished job is loaded first. */
  rerun(job: string, expectedRun?: number): ReplyBody {
    this.#bringIn(job);
    const expected = expectedRun === undefined ? {} : { expectedRun };
    const jobId = job as JobId;
    return this.ask({ type: 'rerun', jobId, ...expected, seeds: this.rows.seeds(jobId) });
  }

  redrive(job: string, task: string): ReplyBody {
    this.#bringIn(job);
    const [jobId, taskId] = [job as JobId, task as TaskId];
    return this.ask({ type: 'rerun', jobId, taskId, seeds: this.rows.seeds(jobId) });
  }

  signal(job: string, name: string, value: unknown = null, id: string = this.#nextId()): ReplyBody {
    this.#bringIn(job);
    const body = JSON.stringify({ value });
    return this.ask({ type: 'signal', jobId: job as JobId, name, id, body });
  }

  #nextId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }

  // Operators

  drain(node: string): ReplyBody {
    return this.ask({ type: 'drain', nodeId: node as NodeId });
  }

  releaseNode(node: string): ReplyBody {
    return this.ask({ type: 'releaseNode', nodeId: node as NodeId });
  }

  schedule(id: string, raw: Readonly<Record<string, unknown>>): ReplyBody {
    const spec = parseScheduleSpec(raw, this.settings, this.#options.calendar);
    const document = parseJobDocument(spec.document, this.settings);
    return this.ask({ type: 'putSchedule', scheduleId: id as ScheduleId, spec, document });
  }

  changeSchedule(id: string, change: ChangeSchedule['change']): ReplyBody {
    return this.ask({ type: 'changeSchedule', scheduleId: id as ScheduleId, change });
  }

  // Looking

  job(id: string): JobRow {
    const job = this.rows.jobsById.get(id as JobId);
    if (job === undefined) throw new Error(`there is no job ${id}`);
    return job.row;
  }

  jobIds(): string[] {
    return [...this.rows.jobsById.keys()];
  }

  task(job: string, task: string): TaskView {
    const found = this.rows.task(job as JobId, task as TaskId);
    if (found === undefined) throw new Error(`there is no task ${job}/${task}`);
    const { row, history, results } = found;
    const text = results.get(row.run);
    return { ...row, history, result: text === undefined ? null : JSON.parse(text) };
  }

  /** The states of a job's tasks, by id. */
  states(job: string): Record<string, TaskRow['state']> {
    const tasks = this.rows.jobsById.get(job as JobId)?.tasks ?? [];
    return Object.fromEntries(tasks.map(({ spec, row }) => [spec.id, row.state]));
  }

  /** What the task has recorded in its current run, by name. */
  steps(job: string, task: string): Record<string, unknown> {
    const found = this.rows.task(job as JobId, task as TaskId);
    const prefix = `${found?.row.run}/`;
    const own = [...(found?.steps ?? [])].filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(
      own.map(([name, body]) => [name.slice(prefix.length), JSON.parse(body) as unknown]),
    );
  }

  explain(job: string, task: string): Explanation | null {
    return explain(this.state, job as JobId, task as TaskId, this.now);
  }

  log(): readonly EventRow[] {
    return this.rows.events;
  }

  /** The kinds of the log's entries about one task, in order. */
  history(job: string, task: string): LogKind[] {
    const found = this.rows.task(job as JobId, task as TaskId)?.row;
    const about = this.rows.events.filter(
      (event) => event.jobNo === found?.jobNo && event.taskNo === found?.taskNo,
    );
    return about.map(({ kind }) => kind);
  }

  // The machinery

  /** Drops the memory and loads it again, as a new leader does. Parked polls are gone. */
  restart(): void {
    this.restartWith([this.rows.liveImages()]);
  }

  /** The same in portions, which were read before the first one is taken in. */
  restartWith(portions: readonly (readonly JobImage[])[], between: () => void = () => {}): void {
    this.state = this.#freshState();
    const effects = new Effects();
    restoreCluster(this.state, this.rows.cluster(this.now), this.now, effects);
    for (const [at, portion] of portions.entries()) {
      if (at > 0) between();
      const found = at === 0 ? effects : new Effects();
      for (const image of portion) restoreJob(this.state, image, this.now, found);
      this.#commit(found);
    }
    restoreDone(this.state, this.now);
  }

  /** One step that expects its answer at once. */
  ask(event: Unasked): ReplyBody {
    const ask = this.send(event);
    const reply = this.takeReply(ask);
    if (reply === undefined) throw new Error(`${event.type} was not answered`);
    return reply;
  }

  /** One step, whose answer may come later. */
  send(event: Unasked): number {
    const [ask] = this.together([event]);
    if (event.type === 'assign' && this.#checks) this.checkIdleness();
    return ask as number;
  }

  /** Several steps that share a transaction, as under load. */
  together(events: readonly Unasked[]): number[] {
    const effects = new Effects();
    const asks = events.map((event) => {
      this.#asks += 1;
      const ask = this.#asks as Ask;
      step(this.state, { ask, ...event } as SchedulerEvent, this.now, effects);
      return ask;
    });
    this.#commit(effects);
    return asks;
  }

  hasReply(ask: number): boolean {
    return this.#replies.has(ask);
  }

  takeReply(ask: number): ReplyBody | undefined {
    const reply = this.#replies.get(ask);
    this.#replies.delete(ask);
    return reply;
  }

  check(): void {
    checkInvariants(this.state, this.rows);
  }

  /** Nobody waits for work that is there. */
  checkIdleness(): void {
    for (const node of this.state.nodes.values()) {
      const idle = node.canTakeMore ? couldRun(this.state, node) : [];
      if (idle.length > 0) throw new Error(`${node.id} waits, but could run ${idle.join(', ')}`);
    }
  }

  couldRun(node: NodeId): string[] {
    const found = this.state.nodes.get(node);
    return found === undefined ? [] : couldRun(this.state, found);
  }

  #commit(effects: Effects): void {
    effects.check(this.state);
    const batch = effects.batch(this.state);
    if (effects.isEmpty && batch.lastSeq !== this.rows.lastSeq) {
      throw new Error('an empty batch cannot move the log on');
    }
    this.rows.apply(batch);
    this.state.commitNo = batch.commitNo;
    this.onCommit(batch);
    for (const reply of effects.takeReplies()) this.#deliver(reply);
    if (this.#checks) this.check();
  }

  #deliver({ ask, body }: Reply): void {
    if (this.#replies.has(ask)) throw new Error(`ask ${ask} was answered twice`);
    this.#replies.set(ask, body);
  }

  #askJob(event: Unasked): JobReply {
    const reply = this.ask(event);
    if (reply.type !== 'job') throw new Error(`a job was asked, ${reply.type} answered`);
    return reply;
  }

  #bringIn(id: string): void {
    const job = this.rows.jobsById.get(id as JobId);
    if (job === undefined || this.state.jobs.has(job.row.no)) return;
    const effects = new Effects();
    restoreJob(this.state, this.rows.image(job), this.now, effects);
    this.#commit(effects);
  }

  #freshState(): SchedulerState {
    this.#terms += 1;
    const term = `term-${this.#terms}` as TermId;
    return new SchedulerState({ ...this.#options, settings: this.settings, term });
  }
}

export interface TaskView extends TaskRow {
  readonly history: readonly TaskRow[];
  readonly result: unknown;
}

export interface KeysInStore {
  readonly completedKeys: ReadonlySet<string>;
  readonly pendingKeys: ReadonlyMap<string, TaskRef>;
}
