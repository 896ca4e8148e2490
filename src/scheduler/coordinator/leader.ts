/**
 * A leader from its election to its end: loads its state, dispatches events, and serves its callers. The edges
 * reach it through `LeaderServices` alone.
 */
import { announceLoss, announceTerm, figures, isFinished, step } from '../core/index.ts';
import type {
  Calendar,
  EventView,
  Instant,
  JobId,
  LossDetail,
  MillraceError,
  NamedBatch,
  NodeId,
  SchedulerFigures,
  SchedulerState,
  Settings,
  SchedulerOptions,
  Webhook,
} from '../core/index.ts';
import { defined, isProcessGone as isGoneHere } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';
import { ownHandshake } from '../contract/index.ts';
import type { Handshake, LeaderServices } from '../contract/index.ts';
import type { Predecessor, Store, Term } from '../store/index.ts';
import { Dispatcher } from './dispatcher.ts';
import type { Memory } from './dispatcher-options.ts';
import { CalledQueries } from './called-queries.ts';
import { Decisions } from './decisions.ts';
import { asFault } from './faults.ts';
import type { Loss, TermRecord } from './history.ts';
import { Housekeeping } from './housekeeping.ts';
import { InboxDrain } from './inbox-drain.ts';
import { LeaderJobService } from './job-service.ts';
import type { ServiceOptions } from './service-options.ts';
import { DeclaredSchedules } from './declared-schedules.ts';
import { KnownFlows, flowsOf } from './known-flows.ts';
import type { FlowNode } from './known-flows.ts';
import { KnownOperators } from './known-operators.ts';
import { loadFirst, loadRest, renewing } from './loading.ts';
import { Payloads } from './payloads.ts';
import type { QueryPlanner } from './query-planner.ts';
import { LeaderMeasures } from './leader-measures.ts';
import { LeaderTerm } from './leader-term.ts';
import { LeaderQueueService } from './queue-service.ts';
import { LeaderScheduleService } from './schedule-service.ts';
import { StoredIds } from './stored-ids.ts';
import { TaskLogWriter } from './task-log-writer.ts';
import { traceEnds } from './tracing.ts';
import { LeaderWorkerService } from './worker-service.ts';

export interface LeaderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly calendar: Calendar;
  /** Recounts the whole state before each commit: for tests. */
  readonly isAudited?: boolean;
  /** How many plain jobs stand in each lane before others are packed: for tests. */
  readonly unpackedJobs?: number;
  readonly elected: Elected;
  /** What this side is, for workers that want to join. */
  readonly handshake?: Handshake;
  /** Makes jobs of queries; without one they are refused. */
  readonly planner?: QueryPlanner;
  /** True is proof that the process of this name has ended; without it this machine's processes are looked at. */
  readonly isProcessGone?: (process: string) => boolean;
  /** Called after every commit, before its answers go out. */
  readonly onCommitted?: (rows: NamedBatch, at: Instant) => void;
  /** A fault of this program that made it reload its state; the callers concerned got an error. */
  readonly onFault?: (fault: MillraceError) => void;
  /** Rows past retention could not be removed; it is tried again. */
  readonly onPruneFailed?: (why: MillraceError) => void;
  /** The term has ended, for this reason; called once. */
  readonly onEnd: (why: MillraceError) => void;
  /** Events that may wait for the store before callers are refused. */
  readonly backlogMax?: number;
  /** See `DispatcherOptions`: for tests. */
  readonly worthBytes?: number;
  /** Those of the process; without them the leader has its own. */
  readonly measures?: LeaderMeasures;
  /** Schedules that flows declare wait to be resumed: for tests of those flows. */
  readonly pausesDeclaredSchedules?: boolean;
  /** What webhooks are signed with; without one they are not accepted. */
  readonly webhookSecrets?: readonly string[];
  /** Servers that hear of the ends of all jobs. */
  readonly webhooks?: readonly Webhook[];
}

export interface Elected {
  readonly term: Term;
  readonly nodeId: string;
  readonly now: Instant;
  /** Monotonic time before the vote was sent: trust counts from here. */
  readonly askedAtMs: number;
  /** Whom this leader has deposed. */
  readonly previous?: Predecessor | null;
  /** The commits of this process's last term that the store has lost. */
  readonly loss?: Loss | null;
}

export class Leader implements LeaderServices {
  readonly term: Term;
  readonly jobs: LeaderJobService;
  readonly workers: LeaderWorkerService;
  readonly schedules: LeaderScheduleService;
  readonly queues: LeaderQueueService;
  readonly operators: KnownOperators;
  readonly flows: KnownFlows;
  /** Settles when every live job is in memory, or the term has ended. */
  readonly loaded: Promise<void>;
  readonly #dispatcher: Dispatcher;
  readonly #leaderTerm: LeaderTerm;

  /** Loads what is needed to serve, then serves and loads the rest. */
  static async start(options: LeaderOptions): Promise<Leader> {
    const { store, clock, settings, elected } = options;
    const leaderTerm = new LeaderTerm(store, clock, settings, elected);
    const { term } = elected;
    let begun: Dispatcher | null = null;
    const nodes = (): readonly FlowNode[] => (begun === null ? [] : flowNodes(begun));
    // Before the first job can end: flows may listen to it.
    const flows = await KnownFlows.load({ store, term, settings, nodes });
    const load = { store, leaderTerm, scheduler: schedulerOf(options, flows) };
    const memory = await renewing(load, clock, () => loadFirst(load));
    const operators = await KnownOperators.load(store, term);
    announce(options, memory, leaderTerm.time.now());
    const housekeeping = new Housekeeping({ store, clock, settings, term }, (why) =>
      options.onPruneFailed?.(why),
    );
    const inbox = new InboxDrain(store, clock);
    const payloads = new Payloads(store, term.shard, options.webhookSecrets);
    const storedIds = new StoredIds(store, term.shard);
    const decisions = decisionsOf(options, payloads, () => dispatcher);
    let queries: CalledQueries | null = null;
    let memories = 0;
    const { measures = new LeaderMeasures() } = options;
    measures.forget();
    const taskLogs = taskLogWriter(options, () => dispatcher);
    const dispatcher: Dispatcher = new Dispatcher({
      store,
      clock,
      leaderTerm,
      memory,
      onCommitted: (rows, at, tookMs) => {
        payloads.learn(rows);
        storedIds.learn(rows);
        dispatcher.peek((state) => measures.committed(rows, tookMs, executorsIn(state)));
        traceEnds(rows);
        options.onCommitted?.(rows, at);
      },
      decide: (state, batches) => decisions.decide(state, batches),
      reload: () => {
        memories += 1;
        measures.forget();
        return renewing(load, clock, () => loadFirst(load));
      },
      onReloaded: () => void streamIn(),
      ...(options.onFault === undefined ? {} : { onFault: options.onFault }),
      onEnd: (why) => {
        housekeeping.stop();
        inbox.stop();
        queries?.stop();
        options.onEnd(why);
      },
      ...defined({ backlogMax: options.backlogMax, worthBytes: options.worthBytes }),
    });
    begun = dispatcher;
    // A leader that knows only some of the jobs would leave the others waiting for ever.
    const streamIn = (): Promise<void> => {
      const memory = memories;
      return loadRest(load, dispatcher, () => memory === memories).catch((error: unknown) =>
        dispatcher.end(asFault(error)),
      );
    };
    const loaded = streamIn();
    // Not in the way of the jobs. What it does not know is looked up.
    void loaded.then(() => storedIds.load()).catch(() => {});
    queries = new CalledQueries({ dispatcher, clock, planner: options.planner ?? null });
    const known = { payloads, storedIds, queries, operators, flows };
    const parts = { dispatcher, ...known, measures, taskLogs };
    const leader = new Leader(options, parts, loaded, leaderTerm);
    inbox.start(() => leader.jobs.drainInbox());
    return leader;
  }

  private constructor(
    options: LeaderOptions,
    parts: Pick<
      ServiceOptions,
      'dispatcher' | 'payloads' | 'storedIds' | 'operators' | 'flows' | 'measures' | 'taskLogs'
    > & {
      readonly queries: CalledQueries;
    },
    loaded: Promise<void>,
    leaderTerm: LeaderTerm,
  ) {
    const { store, settings, calendar, elected, handshake = ownHandshake() } = options;
    const { planner = null, isProcessGone = isGoneHere, webhookSecrets = [] } = options;
    const signsWebhooks = webhookSecrets.length > 0;
    const own = { settings, handshake, planner, isProcessGone, signsWebhooks };
    const { term } = elected;
    const shared = { store, shard: term.shard, term, ...own, ...parts };
    this.term = elected.term;
    this.operators = parts.operators;
    this.flows = parts.flows;
    this.jobs = new LeaderJobService(shared);
    this.schedules = new LeaderScheduleService(shared, calendar);
    this.queues = new LeaderQueueService(parts.dispatcher);
    const declared = new DeclaredSchedules({
      ...{ dispatcher: parts.dispatcher, flows: parts.flows, schedules: this.schedules },
      arePaused: options.pausesDeclaredSchedules === true,
    });
    this.workers = new LeaderWorkerService(shared, parts.queries, declared);
    this.loaded = loaded;
    this.#dispatcher = parts.dispatcher;
    this.#leaderTerm = leaderTerm;
  }

  /** Its additions to the history, as far as the store has acknowledged them. */
  get record(): TermRecord | null {
    const { term, began, acknowledged } = this.#leaderTerm;
    return began === null || acknowledged === null ? null : { term, began, acknowledged };
  }

  /** Events waiting to be committed. */
  get backlog(): number {
    return this.#dispatcher.backlog;
  }

  /** Whether the job is in memory and not over. It may be over before that is committed. */
  isLive(jobId: JobId): boolean {
    return this.#dispatcher.peek(({ jobsById }) => {
      if (jobsById.isPacked(jobId)) return true;
      const job = jobsById.get(jobId);
      return job !== undefined && !isFinished(job.state);
    });
  }

  /** Whether the job has ended or is unknown; settles when that is committed. */
  hasEnded(jobId: JobId): Promise<boolean> {
    return this.#dispatcher.read(({ jobsById }) => {
      if (jobsById.isPacked(jobId)) return false;
      const job = jobsById.get(jobId);
      return job === undefined || isFinished(job.state);
    });
  }

  /** How many tasks the node holds. */
  holds(nodeId: NodeId): number {
    return this.#dispatcher.peek(({ nodes }) => nodes.get(nodeId)?.leases.size ?? 0);
  }

  /** What monitoring wants to know; costs nothing. */
  figures(): SchedulerFigures & { readonly backlog: number; readonly reloads: number } {
    const { backlog, reloads } = this.#dispatcher;
    return { ...this.#dispatcher.peek(figures), backlog, reloads };
  }

  /** Serves no more. Settles when nothing is in flight, so that the term can be resigned. */
  end(why: MillraceError): Promise<void> {
    return this.#dispatcher.end(why);
  }
}

function schedulerOf(
  { settings, calendar, isAudited = false, unpackedJobs, webhooks = [] }: LeaderOptions,
  flows: KnownFlows,
): Omit<SchedulerOptions, 'term'> {
  const flowsOn = flows.listening.bind(flows);
  const ends = { flowsOn, webhooks };
  return { settings, calendar, isAudited, ends, ...defined({ unpackedJobs }) };
}

function decisionsOf(
  { store, elected, planner }: LeaderOptions,
  { recent }: Payloads,
  dispatcher: () => Dispatcher,
): Decisions {
  const { shard } = elected.term;
  // A read comes between two events; a leader that has stepped down decides nothing.
  const onLoaded = (): void =>
    void dispatcher()
      .read(() => null)
      .catch(() => null);
  return new Decisions({ store, shard, recent, planner: planner ?? null, onLoaded });
}

function taskLogWriter(
  { store, settings, elected }: LeaderOptions,
  dispatcher: () => Dispatcher,
): TaskLogWriter {
  return new TaskLogWriter({
    store,
    settings,
    shard: elected.term.shard,
    hasSession: ({ nodeId, sessionId }) =>
      dispatcher().peek((state) => state.nodes.get(nodeId)?.sessionId === sessionId),
    isLive: (id) => dispatcher().peek((state) => state.jobsById.has(id)),
  });
}

/** The executor of a task that was just assigned. */
function executorsIn({ jobs, tasks }: SchedulerState): (event: EventView) => string | null {
  return ({ jobNo, taskNo }) => {
    const slot = jobNo === null || taskNo === null ? null : (jobs.get(jobNo)?.slot(taskNo) ?? null);
    return slot === null ? null : tasks.requirement(slot).executor;
  };
}

function flowNodes(dispatcher: Dispatcher): readonly FlowNode[] {
  const nodes = dispatcher.peek((state) => [...state.nodes.values()]);
  const live = nodes.filter(({ status }) => status === 'healthy');
  return live.map(({ id, offer }) => ({ id, flows: flowsOf(offer.capabilities) }));
}

function lossDetail({ end, commits, events, jobs }: Loss): LossDetail {
  return { afterSeq: end.lastSeq, commits, events, jobs };
}

/** The first events of the term, and the end of its predecessor's session. */
function announce(
  { elected, isProcessGone = isGoneHere }: LeaderOptions,
  memory: Parameters<typeof endSessionOf>[1],
  now: Instant,
): void {
  const { nodeId, term, loss = null, previous = null } = elected;
  announceTerm(memory.state, { epoch: term.epoch, nodeId }, now, memory.effects);
  if (loss !== null) announceLoss(memory.state, lossDetail(loss), now, memory.effects);
  endSessionOf(previous, memory, now, isProcessGone);
}

/**
 * The dead leader's own worker went with it, so its session ends at once if its process is gone as well. All
 * others get a full TTL, and so does this one otherwise: the database has only seen a connection end, and both may be
 * alive and cut off.
 */
function endSessionOf(
  previous: Predecessor | null,
  memory: Memory,
  now: Instant,
  isProcessGone: (process: string) => boolean,
): void {
  if (previous === null || !previous.isGone) return;
  const node = memory.state.nodes.get(previous.nodeId as NodeId);
  const process = node?.offer.capabilities['process'];
  if (node === undefined || typeof process !== 'string' || !isProcessGone(process)) return;
  const { id: nodeId, sessionId } = node;
  step(memory.state, { type: 'sessionGone', nodeId, sessionId }, now, memory.effects);
}
