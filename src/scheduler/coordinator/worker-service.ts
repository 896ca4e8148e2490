/** Serves workers on the leader. They have no database: this is all they can ask. */
import { MillraceError, isOperatorExecutor, isTerminal } from '../core/index.ts';
import type {
  Ask,
  Assignment,
  FlowDeclaration,
  Instant,
  JobId,
  LeaseName,
  NodeId,
  NodeOffer,
  OperatorDeclaration,
  Orders,
  Priority,
  Register,
  ReplyBody,
  Report,
  ReportItem,
  TaskId,
  TaskNo,
  Verdict,
} from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type {
  Beat,
  FragmentKey,
  Handshake,
  HeldFragment,
  NodeService,
  PollReply,
  PollRequest,
  ReadyAssignment,
  Registered,
  ReportReply,
  Session,
  TaskLogLine,
  WorkerFigures,
  WorkerOrders,
  WorkerReport,
  WorkerService,
} from '../contract/index.ts';
import { checkHandshake } from './handshake.ts';
import { quietMs } from './quiet-time.ts';
import { queriesIn } from './called-queries.ts';
import type { CalledQueries } from './called-queries.ts';
import type { JobLook } from './payloads.ts';
import type { ServiceOptions } from './service-options.ts';
import { processorsOfOne, slotsFor } from './processor-slots.ts';
import { checkId, checkPoll, checkedOffer } from './checks.ts';
import { checkedReport } from './report-checks.ts';
import { asFailed, asReturned, asSkipped } from './unsent.ts';
import { lookUp, withFound } from './report-lookups.ts';
import type { LeasedJob } from './suspension-checks.ts';
import type { FlowSchedules } from './declared-schedules.ts';
import { fragmentsIn, withFragmentResults, withGaps } from './fragment-reports.ts';
import { FetchOrders } from './fetch-orders.ts';
import { heldFragment, heldLease } from './held-leases.ts';
import type { HeldLease } from './held-leases.ts';
import { prepareEvents } from './task-events.ts';
import { unneededOutputs } from './unneeded-outputs.ts';

export class LeaderWorkerService implements WorkerService, NodeService {
  readonly #options: ServiceOptions;
  readonly #queries: CalledQueries;
  /** As of the last heartbeat of each node in this term. */
  readonly figures: Map<NodeId, WorkerFigures> = new Map();
  readonly #fetches: FetchOrders;
  readonly #flowSchedules: FlowSchedules;

  constructor(options: ServiceOptions, queries: CalledQueries, flowSchedules: FlowSchedules) {
    [this.#options, this.#queries, this.#flowSchedules] = [options, queries, flowSchedules];
    this.#fetches = new FetchOrders(options);
  }

  async register(
    given: NodeOffer,
    handshake: Handshake,
    operators: readonly OperatorDeclaration[] = [],
    flows: readonly FlowDeclaration[] = [],
  ): Promise<Registered> {
    const { dispatcher, handshake: own } = this.#options;
    checkHandshake(own, handshake);
    const offer = checkedOffer(given);
    await this.#options.operators.declare(operators);
    const changed = await this.#options.flows.declare(flows);
    const gone = this.#goneBefore(offer);
    const reply = await dispatcher.ask((ask) => ({ type: 'register', ask, offer, ...gone }));
    const { sessionTtlMs, heartbeatMs } = expect(reply, 'registered');
    await this.#flowSchedules.registered(changed);
    return { sessionTtlMs, heartbeatMs, sessionName: offer.sessionId };
  }

  /** The session that has this name now, if its process is proven to be gone. */
  #goneBefore({ id: nodeId, sessionId }: NodeOffer): Pick<Register, 'goneSession'> {
    const known = this.#options.dispatcher.peek((state) => state.nodes.get(nodeId)?.sessionId);
    if (known === undefined || known === sessionId) return {};
    const process = this.processOf({ nodeId, sessionId: known });
    return process !== null && this.#options.isProcessGone(process) ? { goneSession: known } : {};
  }

  async heartbeat(beat: Beat): Promise<WorkerOrders> {
    const { nodeId, sessionId, held, seenPoll, executors, figures } = beat;
    const operators = executors.filter(isOperatorExecutor);
    for (const operator of operators) checkId(operator, 'operator');
    const said = { type: 'heartbeat' as const, nodeId, sessionId, held, seenPoll, operators };
    const reply = await this.#options.dispatcher.ask((ask) => ({ ask, ...said }));
    this.#checkOffer(beat, executors);
    this.#flowSchedules.alive();
    if (figures !== undefined) {
      this.figures.set(nodeId, figures);
      this.#fetches.heard(nodeId, figures, this.#now());
    }
    return this.#paced(nodeId, expect(reply, 'orders').orders);
  }

  /** A node that offers more executors than it registered must say so in a registration. A beat with
   * fewer may have been on its way when the session registered again with more. */
  #checkOffer({ nodeId, sessionId }: Session, executors: readonly string[]): void {
    const node = this.#options.dispatcher.peek((state) => state.nodes.get(nodeId));
    if (node?.sessionId !== sessionId) return;
    if (executors.every((name) => isOperatorExecutor(name) || node.executors.has(name))) return;
    throw new MillraceError({
      code: 'unknown_session',
      what: `Node ${nodeId} offers executors that it has not registered.`,
      todo: 'Register anew.',
    });
  }

  readonly #now = (): Instant => this.#options.dispatcher.peek((_state, at) => at);

  #paced(nodeId: NodeId, { abort, drain }: Orders): WorkerOrders {
    const slowDownMs = quietMs(this.#options.dispatcher.pressure);
    return this.#fetches.with(nodeId, { abort, drain, slowDownMs });
  }

  /** Parks until there is work, an order, or the signal asks for an empty answer. */
  async poll(request: PollRequest, signal?: AbortSignal): Promise<PollReply> {
    const { dispatcher } = this.#options;
    const { nodeId, sessionId, pollNo } = request;
    checkPoll(request);
    const hangUp = (): void => {
      // `ask` is not used: the reply goes to the parked poll itself.
      dispatcher.tell({ type: 'hangUp', nodeId, sessionId, pollNo });
    };
    signal?.addEventListener('abort', hangUp, { once: true });
    const askedAt = this.#now();
    try {
      const asked = dispatcher.ask((ask) => ({ type: 'poll', ask, ...request }));
      if (signal?.aborted === true || request.waits === false) hangUp();
      const { assignments, orders } = expect(await asked, 'assignments');
      this.#options.measures.poll.observe((this.#now() - askedAt) / 1_000);
      return {
        assignments: await this.#hydrate(request, assignments),
        orders: this.#paced(nodeId, orders),
      };
    } finally {
      signal?.removeEventListener('abort', hangUp);
    }
  }

  writeLogs(session: Session, lines: readonly TaskLogLine[]): Promise<void> {
    return this.#options.taskLogs.write(session, lines);
  }

  /**
   * As many as one answer holds; the others are sent again with the next poll. A task whose input cannot be made
   * fails here: no worker could do better with it. One whose condition does not hold is skipped here.
   */
  async #hydrate(
    session: Session,
    assignments: readonly Assignment[],
  ): Promise<readonly ReadyAssignment[]> {
    const { payloads } = this.#options;
    const all: ReadyAssignment[] = [];
    let characters = 0;
    for (let at = 0; at < assignments.length && characters < ANSWER_MAX;) {
      const portion = assignments.slice(at, at + PORTION);
      const { ready, failed, skipped, early, count } = await payloads.hydrate(portion, this.#look);
      for (const assignment of ready) {
        characters += lengthOf(assignment);
        all.push(assignment);
      }
      const ended = [...failed.map(asFailed), ...skipped.map(asSkipped), ...early.map(asReturned)];
      if (ended.length > 0) await this.#report(session, ended);
      at += count;
    }
    return all;
  }

  /** Names and numbers, which no commit can undo. */
  readonly #look: JobLook = {
    find: (jobNo, id) =>
      this.#options.dispatcher.peek(
        (state) => state.jobs.get(jobNo)?.taskNo(id, state.tasks) ?? null,
      ),
    runs: (jobNo, refs) =>
      this.#options.dispatcher.peek(({ jobs, tasks }) => {
        const job = jobs.get(jobNo);
        if (job === undefined || job.outputs === null) return null;
        return refs.map(({ taskNo }) => {
          const slot = job.slot(taskNo);
          return slot !== null && isTerminal(tasks.state(slot)) ? tasks.run.get(slot) : -1;
        });
      }),
    children: ({ jobNo, taskNo }) =>
      this.#options.dispatcher.peek(({ jobs, tasks }) => {
        const parent = jobs.get(jobNo)?.slot(taskNo) ?? null;
        const slots = parent === null ? [] : tasks.children(parent);
        return slots.map((slot) => ({ jobNo, taskNo: tasks.no(slot), id: tasks.id(slot) }));
      }),
  };

  async report(session: Session, given: readonly WorkerReport[]): Promise<ReportReply> {
    const { settings, planner, flows } = this.#options;
    const fragments = fragmentsIn(this.#options, session, given);
    const { reports, unregistered } =
      fragments.size === 0 || planner?.fragments === undefined
        ? { reports: given, unregistered: NONE }
        : await withFragmentResults(planner.fragments, given, fragments);
    const checks = {
      settings,
      jobOf: (lease: LeaseName) => this.#jobOf(lease),
      documentOf: (called: unknown) => flows.document(called),
      listening: flows.listening.bind(flows),
    };
    const items = reports.map((report) => checkedReport(report, checks));
    await prepareEvents(this.#options.dispatcher, items);
    const called = queriesIn(reports, ({ lease }) => this.#jobOf(lease)?.priority ?? null);
    const reply = await this.#report(session, items);
    for (const [at, queries] of called) {
      const isTaken = reply.verdicts[at] === 'ok' && items[at]?.kind === 'suspended';
      if (isTaken) for (const query of queries) this.#queries.begin(query);
    }
    if (fragments.size === 0) return reply;
    const verdicts = withGaps(reply.verdicts, unregistered);
    await this.#fetches.committed(fragments, given, (at) => verdicts[at] === 'ok');
    return { verdicts, orders: this.#fetches.with(session.nodeId, reply.orders) };
  }

  /** The lease of a task that runs; null for any other. */
  leaseOf(jobId: JobId, taskId: TaskId): HeldLease | null {
    return this.#options.dispatcher.peek((state) => heldLease(state, jobId, taskId));
  }

  /** The fragment that the session runs under this key; throws if it does not. */
  heldFragment(session: Session, key: FragmentKey): HeldFragment {
    return this.#options.dispatcher.peek((state) => heldFragment(state, session, key));
  }

  async #report(session: Session, items: readonly ReportItem[]): Promise<ReportReply> {
    const { dispatcher } = this.#options;
    const { nodeId, sessionId } = session;
    const event = (ask: Ask, all: readonly ReportItem[]): Report => ({
      type: 'report',
      ask,
      nodeId,
      sessionId,
      items: all,
    });
    const look = lookUp(this.#options, items);
    const answered =
      look === null
        ? dispatcher.ask((ask) => event(ask, items))
        : dispatcher.askAfter(
            look,
            (found, ask) =>
              event(
                ask,
                items.map((item) => withFound(item, found)),
              ),
            ({ images }) => images,
          );
    const reply = expect(await answered, 'verdicts');
    const verdicts = await this.#verify(items, reply.verdicts);
    return { verdicts, orders: this.#paced(nodeId, reply.orders) };
  }

  /** What a task may add to: its children of an earlier attempt may be named again. */
  #jobOf({ jobId, jobNo, taskNo }: LeaseName): LeasedJob | null {
    return this.#options.dispatcher.peek(({ jobs, tasks }) => {
      const job = jobs.get(jobNo);
      const own = job?.slot(taskNo) ?? null;
      if (job?.id !== jobId || own === null) return null;
      const find = (id: string): TaskNo | null => job.taskNo(id as TaskId, tasks);
      return {
        id: job.id,
        priority: tasks.priority(own) as Priority,
        keep: job.options.keep,
        known: {
          size: job.slots.length,
          get: (id) => find(id) ?? undefined,
          mayExist: (id) => {
            const no = find(id);
            const slot = no === null ? null : job.slot(no);
            return slot !== null && tasks.parent(slot) === taskNo;
          },
        },
      };
    });
  }

  /** A report for a job that has left the memory: accepted before, or lost? The row knows. */
  async #verify(
    items: readonly ReportItem[],
    verdicts: readonly Verdict[],
  ): Promise<ReportReply['verdicts']> {
    if (verdicts.every((verdict) => verdict !== 'unknown')) return verdicts;
    const { store, shard } = this.#options;
    const asked = items.filter((_, at) => verdicts[at] === 'unknown').map(({ lease }) => lease);
    const rows = await store.taskRows(shard, asked);
    return verdicts.map((verdict, at) => {
      const item = items[at];
      if (verdict !== 'unknown') return verdict;
      if (item === undefined) return 'lost';
      const { lease, kind } = item;
      const row = rows.get(refKey(lease.jobNo, lease.taskNo));
      const isSame = row?.fence === lease.fence && row.term === lease.term;
      const wasAccepted = kind === 'completed' ? row?.state === 'succeeded' : kind === 'failed';
      return isSame && wasAccepted ? 'ok' : 'lost';
    });
  }

  unneeded(
    _session: Session,
    queries: readonly JobId[],
    kind?: 'inner',
  ): Promise<readonly JobId[]> {
    return unneededOutputs(this.#options, queries, kind);
  }

  async leave(session: Session): Promise<void> {
    const { nodeId, sessionId } = session;
    await this.#options.dispatcher.ask((ask) => ({ type: 'leave', ask, nodeId, sessionId }));
  }

  /** The process of the session, if it lives and has said so. */
  processOf({ nodeId, sessionId }: Session): string | null {
    const node = this.#options.dispatcher.peek((state) => state.nodes.get(nodeId));
    if (node?.sessionId !== sessionId || node.status !== 'healthy') return null;
    const { process } = node.offer.capabilities;
    return typeof process === 'string' ? process : null;
  }

  /** Of all nodes that are thought to live. */
  sessions(): readonly Session[] {
    const nodes = this.#options.dispatcher.peek((state) => [...state.nodes.values()]);
    const alive = nodes.filter(({ status }) => status === 'healthy');
    return alive.map(({ id: nodeId, sessionId }) => ({ nodeId, sessionId }));
  }

  /** How many tasks of this executor can run at once, each on a processor of its own. */
  slotsFor(executor: string): number {
    return this.#options.dispatcher.peek((state) => slotsFor(state, executor));
  }

  /** How many processors a single one would have now. */
  processorsOfOne(executor: string): number {
    return this.#options.dispatcher.peek((state) => processorsOfOne(state, executor));
  }

  /** When the node was heard last; null when it is not known. */
  seenAt(nodeId: NodeId): Instant | null {
    return this.#options.dispatcher.peek((state) => state.nodes.get(nodeId)?.seenAt ?? null);
  }

  /** The process behind the session is proven to be gone. */
  gone(session: Session): void {
    const { nodeId, sessionId } = session;
    this.#options.dispatcher.tell({ type: 'sessionGone', nodeId, sessionId });
  }

  async drain(nodeId: NodeId): Promise<void> {
    await this.#options.dispatcher.ask((ask) => ({ type: 'drain', ask, nodeId }));
  }

  async release(nodeId: NodeId): Promise<void> {
    await this.#options.dispatcher.ask((ask) => ({ type: 'releaseNode', ask, nodeId }));
  }
}

const NONE: ReadonlySet<number> = new Set();

/** Characters in one answer, and assignments whose inputs are made at once. */
const ANSWER_MAX = 16 * 1024 * 1024;
const PORTION = 32;

function lengthOf({ input, steps, children }: ReadyAssignment): number {
  let length = input.length;
  for (const { name, body } of steps) length += name.length + body.length;
  for (const { result } of children) length += result?.length ?? 0;
  return length;
}

function expect<T extends ReplyBody['type']>(
  reply: ReplyBody,
  type: T,
): Extract<ReplyBody, { type: T }> {
  if (reply.type === type) return reply as Extract<ReplyBody, { type: T }>;
  throw new MillraceError({ code: 'invariant', what: `${type} was asked, ${reply.type} answered` });
}
