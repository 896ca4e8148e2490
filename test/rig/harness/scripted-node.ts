/** A worker in name only: the test says what it does, and it remembers what it holds. */
import { parseJobDocument, parseTaskDocuments } from '../../../src/scheduler/core/index.ts';
import type {
  Assignment,
  FailureClass,
  JobId,
  LeaseName,
  NodeId,
  NodeOffer,
  Orders,
  ReplyBody,
  ReportItem,
  SchedulerEvent,
  SessionId,
  SuspendUntil,
  TaskId,
  Verdict,
} from '../../../src/scheduler/core/index.ts';
import type { Harness } from '../harness.ts';

export interface NodeOptions {
  readonly executors?: readonly string[];
  readonly slots?: number;
  readonly prefetch?: number;
  readonly capabilities?: NodeOffer['capabilities'];
}

export interface Failure {
  readonly failure?: FailureClass;
  readonly code?: string;
  readonly message?: string;
  /** For `missing`: what the node turned out to lack. */
  readonly missing?: string;
  readonly retryAfterMs?: number;
}

/** What a scripted task waits for; a called job is `JOB.name`. */
export interface Waiting {
  readonly sleepMs?: number;
  readonly signals?: readonly string[];
  readonly jobs?: Readonly<Record<string, unknown>>;
}

type Lease = Pick<Assignment, 'lease'>;

/** Endings: after these the worker holds the task no longer, whatever the answer. */
const ENDINGS: ReadonlySet<ReportItem['kind']> = new Set([
  'completed',
  'failed',
  'inputLost',
  'aborted',
  'released',
  'skipped',
  'suspended',
]);

export class ScriptedNode {
  readonly id: NodeId;
  readonly #world: Harness;
  readonly #options: NodeOptions;
  #sessions = 0;
  #pollNo = 0;
  /** The last poll whose answer was taken in. */
  seenPoll = 0;
  #parked: { readonly ask: number; readonly pollNo: number } | null = null;
  readonly held: Map<string, Assignment> = new Map();
  /** What the leader last asked for. */
  orders: Orders = { abort: [], drain: false };

  constructor(world: Harness, id: string, options: NodeOptions) {
    this.id = id as NodeId;
    this.#world = world;
    this.#options = options;
    this.restartProcess();
  }

  get sessionId(): SessionId {
    return `${this.id}-${this.#sessions}` as SessionId;
  }

  get pollNo(): number {
    return this.#pollNo;
  }

  /** A new process under the old name: it holds nothing and registers. */
  restartProcess(): ReplyBody {
    const goneSession = this.sessionId;
    this.#sessions += 1;
    this.#pollNo = 0;
    this.seenPoll = 0;
    this.held.clear();
    this.#parked = null;
    return this.register({}, goneSession);
  }

  register(changed: NodeOptions = {}, goneSession?: SessionId): ReplyBody {
    const {
      executors = ['echo'],
      slots = 1_000,
      prefetch = 0,
      capabilities = {},
    } = {
      ...this.#options,
      ...changed,
    };
    const { id, sessionId } = this;
    const facts = { executors, capabilities, address: null, version: '1' };
    const offer = { id, sessionId, slots, prefetch, ...facts };
    const gone = goneSession === undefined ? {} : { goneSession };
    return this.#world.ask({ type: 'register', offer, ...gone });
  }

  /** Asks for work and takes what there is; does not wait for more. */
  poll(capacity = 1): readonly Assignment[] {
    this.park(capacity);
    this.hangUp();
    this.#world.assign();
    return this.take();
  }

  /** Asks for work and waits; `take` fetches what came. */
  park(capacity = 1, held: readonly LeaseName[] = this.heldNames()): void {
    this.#pollNo += 1;
    const pollNo = this.#pollNo;
    const ask = this.#world.send({ type: 'poll', ...this.#speaker(), pollNo, capacity, held });
    this.#parked = { ask, pollNo };
  }

  get isParked(): boolean {
    return this.#parked !== null && !this.#world.hasReply(this.#parked.ask);
  }

  hangUp(): void {
    if (!this.isParked || this.#parked === null) return;
    this.#world.send({ type: 'hangUp', ...this.#speaker(), pollNo: this.#parked.pollNo });
  }

  /** The answer of the parked poll, if it has come. */
  take(): readonly Assignment[] {
    const parked = this.#parked;
    const reply = parked === null ? undefined : this.#world.takeReply(parked.ask);
    if (parked === null || reply === undefined) return [];
    this.#parked = null;
    if (reply.type === 'refused') throw reply.error;
    if (reply.type !== 'assignments') throw new Error(`a poll was answered with ${reply.type}`);
    this.seenPoll = parked.pollNo;
    this.orders = reply.orders;
    for (const each of reply.assignments) this.held.set(nameOf(each.lease), each);
    return reply.assignments;
  }

  /** The answer gets lost on the way: the worker never learns of it. */
  loseAnswer(): void {
    if (this.#parked !== null) this.#world.takeReply(this.#parked.ask);
    this.#parked = null;
  }

  heldNames(): LeaseName[] {
    return [...this.held.values()].map(({ lease }) => lease);
  }

  start(task: Lease): Verdict {
    return this.#report({ kind: 'started', lease: task.lease });
  }

  progress(task: Lease, fraction: number, note: string | null = null): Verdict {
    return this.#report({ kind: 'progress', lease: task.lease, fraction, note });
  }

  step(task: Lease, name: string, value: unknown): Verdict {
    return this.#report({ kind: 'step', lease: task.lease, name, body: JSON.stringify(value) });
  }

  complete(task: Lease, value: unknown = null): Verdict {
    const result = value === null ? null : JSON.stringify(value);
    return this.#report({ kind: 'completed', lease: task.lease, result });
  }

  fail(task: Lease, { failure = 'retryable', ...rest }: Failure = {}): Verdict {
    const { code = 'oops', message = 'it broke', ...named } = rest;
    const error = { code, message };
    return this.#report({ kind: 'failed', lease: task.lease, error, failure, ...named });
  }

  /** It did not find what these tasks have made, by their fences. */
  loseInput(task: Lease, lost: Readonly<Record<string, number>>): Verdict {
    return this.#report({
      kind: 'inputLost',
      lease: task.lease,
      lost: Object.entries(lost).map(([id, fence]) => ({ taskId: id as TaskId, fence })),
      error: { code: 'input_lost', message: 'nobody answers' },
    });
  }

  abort(task: Lease): Verdict {
    return this.#report({ kind: 'aborted', lease: task.lease });
  }

  release(task: Lease): Verdict {
    return this.#report({ kind: 'released', lease: task.lease });
  }

  /** Suspends the task for some time. */
  sleep(task: Lease, ms: number): Verdict {
    return this.wait(task, { sleepMs: ms });
  }

  /** Suspends the task until the first of these comes. Steps are named after what they wait for. */
  wait(task: Lease, what: Waiting): Verdict {
    return this.suspend(task, this.waiting(task, what));
  }

  waiting({ lease }: Lease, { sleepMs, signals = [], jobs = {} }: Waiting): SuspendUntil {
    const { settings, rows } = this.#world;
    const id = rows.jobs.get(lease.jobNo)?.row.id ?? '';
    return {
      type: 'wait',
      sleeps: sleepMs === undefined ? [] : [{ step: '$sleep/s', forMs: sleepMs }],
      signals: signals.map((name) => ({ step: `$signal/${name}`, name })),
      jobs: Object.entries(jobs).map(([name, raw]) => {
        const document = parseJobDocument(raw, settings);
        const jobId = `${id}.${name}` as JobId;
        const ended = rows.jobsById.get(jobId)?.row.state ?? null;
        const keys = this.#world.keysInStore(document.tasks);
        return { step: `$job/${name}`, jobId, document, ended, ...keys };
      }),
    };
  }

  /** The leader finds that the task's condition does not hold. */
  skip(task: Lease, reason = 'not wanted'): Verdict {
    return this.#report({ kind: 'skipped', lease: task.lease, reason });
  }

  /** Suspends the task until its children, given as raw task documents, have ended. */
  spawn(task: Lease, children: readonly unknown[]): Verdict {
    return this.suspend(task, this.children(task, children));
  }

  children(task: Lease, children: readonly unknown[]): SuspendUntil {
    const { settings, rows } = this.#world;
    const job = rows.jobs.get(task.lease.jobNo);
    const size = job?.tasks.length ?? 0;
    // The ids of children that are there already are the core's business, not the parser's.
    const known = { size, get: () => undefined };
    const tasks = parseTaskDocuments(children, settings, known, job?.row.priority);
    const { completedKeys, pendingKeys } = this.#world.keysInStore(tasks);
    return { type: 'children', tasks, completedKeys, pendingKeys };
  }

  suspend(task: Lease, until: SuspendUntil): Verdict {
    return this.#report({ kind: 'suspended', lease: task.lease, until });
  }

  /** The report as an event, for those who send several at once. */
  reporting(items: readonly ReportItem[]): Unasked {
    for (const { kind, lease } of items) if (ENDINGS.has(kind)) this.held.delete(nameOf(lease));
    return { type: 'report', ...this.#speaker(), items };
  }

  report(items: readonly ReportItem[]): readonly Verdict[] {
    const reply = this.#world.ask({ type: 'report', ...this.#speaker(), items });
    if (reply.type === 'refused') throw reply.error;
    if (reply.type !== 'verdicts') throw new Error(`a report was answered with ${reply.type}`);
    this.orders = reply.orders;
    for (const { kind, lease } of items) if (ENDINGS.has(kind)) this.held.delete(nameOf(lease));
    return reply.verdicts;
  }

  beat(held: readonly LeaseName[] = this.heldNames()): Orders {
    const { seenPoll } = this;
    const reply = this.#world.ask({ type: 'heartbeat', ...this.#speaker(), held, seenPoll });
    if (reply.type === 'refused') throw reply.error;
    if (reply.type === 'orders') this.orders = reply.orders;
    return this.orders;
  }

  /** Releases what it was asked to release, as a good worker does. */
  obey(): void {
    for (const name of this.orders.abort) {
      const task = this.held.get(nameOf(name));
      if (task !== undefined) this.abort(task);
    }
  }

  leave(): ReplyBody {
    const reply = this.#world.ask({ type: 'leave', ...this.#speaker() });
    this.held.clear();
    return reply;
  }

  /** Somebody proves that the process is gone. */
  die(): void {
    this.#world.send(this.goneEvent());
    this.held.clear();
  }

  goneEvent(): Unasked {
    const { id: nodeId, sessionId } = this;
    return { type: 'sessionGone', nodeId, sessionId };
  }

  #report(item: ReportItem): Verdict {
    return this.report([item])[0] as Verdict;
  }

  #speaker(): { readonly nodeId: NodeId; readonly sessionId: SessionId } {
    return { nodeId: this.id, sessionId: this.sessionId };
  }
}

function nameOf({ jobNo, taskNo, fence, term }: LeaseName): string {
  return `${jobNo}/${taskNo}/${fence}/${term}`;
}

/** An event without its `ask`, which the harness chooses. */
export type Unasked = SchedulerEvent extends infer Event
  ? Event extends { readonly ask: unknown }
    ? Omit<Event, 'ask'>
    : Event
  : never;
