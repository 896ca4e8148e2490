/** A leader in name only: the test says what it answers and inspects what was reported to it. */
import { instant, jobNo, taskNo } from '../../src/scheduler/core/index.ts';
import type {
  JobId,
  LeaseName,
  NodeOffer,
  TaskId,
  TermId,
} from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { Deferred } from '../../src/kit/index.ts';
import type {
  Beat,
  Handshake,
  WorkerService,
  PollReply,
  PollRequest,
  ReadyAssignment,
  Registered,
  ReportReply,
  Session,
  TaskLogLine,
  WorkerOrders,
  WorkerReport,
} from '../../src/scheduler/contract/index.ts';

/** After these the worker still has its lease. */
const GOES_ON: ReadonlySet<string> = new Set(['started', 'progress', 'step']);

const NO_ORDERS: WorkerOrders = { abort: [], drain: false, slowDownMs: 0 };

export class FakeLeader implements WorkerService {
  readonly registered: NodeOffer[] = [];
  readonly beats: Beat[] = [];
  readonly polls: PollRequest[] = [];
  readonly logged: TaskLogLine[] = [];
  readonly reports: (readonly WorkerReport[])[] = [];
  readonly left: Session[] = [];
  /** Answered with everything from now on. */
  orders: WorkerOrders = NO_ORDERS;
  readonly #given: ReadyAssignment[] = [];
  /** Answers stay on their way until the worker gives the poll up, and are lost then. */
  losesAnswers = false;
  /** Of the last answer: a worker that had given that poll up does not know of them. */
  #unheard: readonly ReadyAssignment[] = [];
  #again: readonly ReadyAssignment[] = [];
  #parked: {
    readonly request: PollRequest;
    readonly answer: Deferred<PollReply>;
    capacity: number;
  } | null = null;

  // Each may be replaced, to refuse or to hang.
  onRegister: (offer: NodeOffer) => Promise<Registered> = ({ sessionId }) =>
    Promise.resolve({ sessionTtlMs: 20_000, heartbeatMs: 3_000, sessionName: sessionId });
  onHeartbeat: (beat: Beat) => Promise<WorkerOrders> = () => Promise.resolve(this.orders);
  onPoll: (request: PollRequest) => void = () => {};
  onReport: (items: readonly WorkerReport[]) => Promise<void> = () => Promise.resolve();
  onUnneeded: (queries: readonly JobId[], kind?: 'inner') => Promise<readonly JobId[]> = () =>
    Promise.resolve([]);
  onLeave: () => Promise<void> = () => Promise.resolve();
  verdict: (item: WorkerReport) => 'ok' | 'lost' = () => 'ok';

  get isParked(): boolean {
    return this.#parked !== null;
  }

  /** Every item that was reported to it, in order, as KIND TASK. */
  get reported(): readonly string[] {
    return this.reports.flat().map(({ kind, lease }) => `${kind} ${lease.taskNo}`);
  }

  get items(): readonly WorkerReport[] {
    return this.reports.flat();
  }

  give(...assignments: readonly ReadyAssignment[]): void {
    this.#given.push(...assignments);
    this.answer();
  }

  /** Answers the parked poll with what there is, if there is anything, or with orders alone. */
  answer(isForced = false): void {
    const parked = this.#parked;
    const isIdle = this.#given.length === 0 || parked?.capacity === 0;
    if (parked === null || (isIdle && this.#again.length === 0 && !isForced)) return;
    const room = Math.max(0, parked.capacity - this.#again.length);
    const assignments = [...this.#again, ...this.#given.splice(0, room)];
    this.#again = [];
    if (this.losesAnswers && !isForced) {
      this.#unheard = assignments;
      return;
    }
    this.#parked = null;
    if (assignments.length > 0) this.#unheard = assignments;
    parked.answer.resolve({ assignments, orders: this.orders });
  }

  /** The parked poll fails. */
  refusePoll(error: Error): void {
    this.#parked?.answer.reject(error);
    this.#parked = null;
  }

  register(offer: NodeOffer, _handshake: Handshake): Promise<Registered> {
    this.registered.push(offer);
    return this.onRegister(offer);
  }

  heartbeat(beat: Beat): Promise<WorkerOrders> {
    this.beats.push(beat);
    return this.onHeartbeat(beat);
  }

  poll(request: PollRequest, signal: AbortSignal): Promise<PollReply> {
    this.polls.push(request);
    this.onPoll(request);
    const known = [...request.held, ...this.items.map(({ lease }) => lease)].map(nameOf);
    this.#again = this.#unheard.filter(({ lease }) => !known.includes(nameOf(lease)));
    this.#unheard = [];
    const answer = deferred<PollReply>();
    this.#parked = { request, answer, capacity: request.capacity };
    signal.addEventListener('abort', () => {
      if (this.#parked?.answer === answer) this.answer(true);
    });
    const isUrgent = this.orders.abort.length > 0 || this.orders.drain;
    this.answer(isUrgent || signal.aborted || request.waits === false);
    return answer.promise;
  }

  async report(_session: Session, items: readonly WorkerReport[]): Promise<ReportReply> {
    this.reports.push(items);
    await this.onReport(items);
    const verdicts = items.map((item) => this.verdict(item));
    const ended = items.filter(({ kind }, at) => !GOES_ON.has(kind) && verdicts[at] === 'ok');
    if (this.#parked?.request.refills === true) this.#parked.capacity += ended.length;
    this.answer();
    return { verdicts, orders: this.orders };
  }

  async writeLogs(_session: Session, lines: readonly TaskLogLine[]): Promise<void> {
    this.logged.push(...lines);
  }

  unneeded(
    _session: Session,
    queries: readonly JobId[],
    kind?: 'inner',
  ): Promise<readonly JobId[]> {
    return this.onUnneeded(queries, kind);
  }

  async leave(session: Session): Promise<void> {
    this.left.push(session);
    await this.onLeave();
  }
}

function nameOf(of: LeaseName): string {
  return `${of.jobNo}/${of.taskNo}/${of.fence}`;
}

/** Task number `no` of job 1 under fence 1. */
export function assignment(
  no: number,
  executor: string,
  given: Partial<ReadyAssignment> = {},
): ReadyAssignment {
  return {
    lease: lease(no),
    jobId: 'job' as JobId,
    taskId: `t${no}` as TaskId,
    executor,
    run: 1,
    attempt: 1,
    runMs: null,
    assignedAt: instant(1_000_000),
    scheduledAt: null,
    trace: null,
    hasChildren: false,
    resumed: false,
    idempotencyKey: null,
    input: 'null',
    steps: [],
    children: [],
    ...given,
  };
}

export function lease(no: number): LeaseName {
  const jobId = 'job' as JobId;
  return { jobId, jobNo: jobNo(1), taskNo: taskNo(no), fence: 1, term: 'term' as TermId };
}
