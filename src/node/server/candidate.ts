/** A node that leads when it can: `auto` keeps trying, `leader` gives up. */
import { uuidv7 } from 'uuidv7';
import { MillraceError } from '../../scheduler/core/index.ts';
import type {
  ErrorCode,
  JobId,
  LeaderAddress,
  NamedBatch,
  Settings,
  TaskId,
  TermId,
  Webhook,
} from '../../scheduler/core/index.ts';
import {
  LeaderElection,
  WorkerWatch,
  cronCalendar,
  lossText,
} from '../../scheduler/coordinator/index.ts';
import type {
  Leader,
  LeaderMeasures,
  Loss,
  LeaderGateway,
  QueryPlanner,
} from '../../scheduler/coordinator/index.ts';
import { deferred, isProcessGone } from '../../kit/index.ts';
import type { Clock, Deferred, Say } from '../../kit/index.ts';
import type { Handshake, Reader, Session } from '../../scheduler/contract/index.ts';
import type { LeaderInfo, Store } from '../../scheduler/store/index.ts';
import { EventFeed, StoreReader } from '../../edge/read/index.ts';
import { LostJobs } from './lost-jobs.ts';
import type { Addresses, Part } from './role.ts';
import { DuplicateIdWatch } from './duplicate-node-id.ts';

export interface CandidateOptions {
  readonly nodeId: string;
  /** `leader` gives up when it does not lead within two TTLs. */
  readonly role: 'auto' | 'leader';
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly gateway: LeaderGateway;
  readonly handshake: Handshake;
  readonly say: Say;
  readonly planner: QueryPlanner;
  /** After every commit. */
  /** With the rows of each commit, which are not to be kept. */
  readonly onCommitted: (rows: NamedBatch) => void;
  readonly onLead: () => void;
  readonly measures: LeaderMeasures;
  readonly webhookSecrets: readonly string[];
  readonly webhooks: readonly Webhook[];
  /** The store keeps this node from leading; null when it leads. */
  readonly onTrouble?: (trouble: MillraceError | null) => void;
}

export class Candidate implements Part {
  readonly reader: Reader;
  readonly #options: CandidateOptions;
  readonly #feed: EventFeed;
  readonly #watch: WorkerWatch;
  readonly #lostJobs: LostJobs = new LostJobs();
  readonly #ready: Deferred<void> = deferred();
  #election: LeaderElection | null = null;
  #cancelDeadline: () => void = () => {};
  /** Why this node does not lead, as far as it is a fault. */
  #lastFault: MillraceError | null = null;
  readonly #twins: DuplicateIdWatch;
  /** The term of another leader that was last announced. */
  #standsBy: string | null = null;
  /** Since when another process leads under this node's id. */
  #twinSinceMs: number | null = null;

  constructor(options: CandidateOptions) {
    this.#options = options;
    this.#twins = new DuplicateIdWatch(options.nodeId);
    const { store, clock, gateway } = options;
    this.#feed = new EventFeed({ store, clock });
    this.reader = new StoreReader({
      store,
      feed: this.#feed,
      explain: (job, tasks) => this.#explain(job, tasks),
      whyMissing: (id) => this.#lostJobs.why(id),
      lease: (job, task) => (gateway.isOpen ? gateway.leader().workers.leaseOf(job, task) : null),
      holds: () => {
        const leader = gateway.isOpen ? gateway.leader() : null;
        return leader === null ? undefined : (node) => leader.holds(node);
      },
      seenAt: (node) => (gateway.isOpen ? gateway.leader().workers.seenAt(node) : null),
      figures: (node) =>
        gateway.isOpen ? (gateway.leader().workers.figures.get(node) ?? null) : null,
    });
    this.#watch = new WorkerWatch({
      clock,
      overdueMs: options.settings.heartbeatMs * 2,
      isProcessGone,
      processOf: (session) => (gateway.isOpen ? gateway.leader().workers.processOf(session) : null),
      onGone: (session) => this.#gone(session),
    });
    this.#ready.promise.catch(() => {});
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  whoLeads(): LeaderAddress | null {
    return this.#options.gateway.whoLeads();
  }

  start(addresses: Addresses): Promise<void> {
    const { store, clock, settings, nodeId, handshake, role } = this.#options;
    const { planner, measures, webhookSecrets, webhooks, onCommitted } = this.#options;
    this.#election = new LeaderElection({
      store,
      clock,
      settings,
      calendar: cronCalendar,
      shard: 0,
      nodeId,
      handshake,
      ...addresses,
      newTermId: () => this.#newTerm(),
      random: Math.random,
      planner,
      measures,
      webhookSecrets,
      webhooks,
      onCommitted: (committed, rows) => {
        onCommitted(rows);
        this.#feed.committed(committed);
      },
      onFault: (fault) => this.#options.say(faultLine(fault), 'error'),
      onPruneFailed: ({ message }) =>
        this.#options.say(`Removing expired data failed: ${message}`, 'warn'),
      onLead: (leader) => this.#leads(leader, addresses),
      onLoss: (loss) => this.#lost(loss),
      onFollow: (info, why) => this.#follows(info, why),
    });
    this.#election.start();
    if (role === 'leader') {
      const deadlineMs = settings.leaderTtlMs * 2;
      this.#cancelDeadline = clock.after(deadlineMs, () => this.#giveUp(deadlineMs));
    }
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#cancelDeadline();
    this.#watch.rest();
    await this.#election?.stop();
  }

  /** A worker has spoken to this leader. */
  heard(session: Session): void {
    this.#watch.heard(session);
  }

  /** A worker has renewed its session. */
  renewed(session: Session): void {
    this.#watch.renewed(session);
  }

  /** A worker's connection has dropped. */
  lost(session: Session): void {
    if (this.#options.gateway.isOpen) this.#watch.lost(session);
  }

  #leads(leader: Leader, addresses: Addresses): void {
    const { gateway, nodeId, say } = this.#options;
    this.#cancelDeadline();
    this.#standsBy = null;
    gateway.open(leader, { nodeId, ...addresses, epoch: leader.term.epoch });
    say(`This node is now the leader, epoch ${leader.term.epoch}.`);
    // The sessions of the last leader's process are missed by no other check.
    for (const session of leader.workers.sessions()) this.#watch.lost(session);
    this.#options.onTrouble?.(null);
    this.#options.onLead();
    this.#ready.resolve();
  }

  #lost(loss: Loss): void {
    this.#lostJobs.add(loss.jobIds, new Date());
    this.#options.say(lossText(loss), 'error');
  }

  #newTerm(): TermId {
    const term = uuidv7() as TermId;
    this.#twins.made(term);
    return term;
  }

  /** Said at once. It may be a process that is just ending, so this one gives up only when it stays. */
  #seesTwin({ url }: LeaderInfo): void {
    const { nodeId, clock, settings, say } = this.#options;
    const fault = new MillraceError({
      code: 'conflict',
      what: `Another server uses the node id ${nodeId}${url === null ? '' : `, at ${url}`}, and is the leader.`,
      todo: 'Give each server its own --node-id.',
    });
    if (this.#twinSinceMs === null) say(fault.message);
    this.#twinSinceMs ??= clock.monotonicMs();
    if (clock.monotonicMs() - this.#twinSinceMs > settings.leaderTtlMs * 2)
      this.#ready.reject(fault);
  }

  #follows(info: LeaderInfo | null, why: MillraceError | null): void {
    const { gateway, role, nodeId, say } = this.#options;
    const wasOpen = gateway.isOpen;
    this.#watch.rest();
    gateway.refer(info === null ? gateway.whoLeads() : addressOf(info));
    if (info !== null && this.#twins.isTwin(info)) this.#seesTwin(info);
    else if (info !== null && info.nodeId !== nodeId) this.#twinSinceMs = null;
    this.#lastFault = why;
    if (why !== null && STORE_TROUBLE.has(why.code)) this.#options.onTrouble?.(why);
    if (wasOpen && why !== null && why.code !== 'shutting_down')
      say(`This node is no longer the leader: ${why.message}`, 'warn');
    if (info !== null && info.nodeId !== nodeId) this.#announce(info);
    if (role === 'auto' && info !== null && info.nodeId !== nodeId) this.#ready.resolve();
  }

  /** Once per term of another leader. */
  #announce({ nodeId, url, epoch }: LeaderInfo): void {
    const term = `${nodeId} ${epoch}`;
    if (this.#standsBy === term) return;
    this.#standsBy = term;
    const where = url === null ? '' : ` at ${url}`;
    this.#options.say(`Standing by: ${nodeId} leads${where}, epoch ${epoch}.`);
  }

  #giveUp(deadlineMs: number): void {
    const leader = this.whoLeads();
    this.#ready.reject(
      new MillraceError({
        code: 'not_leader',
        what: `This node did not become the leader within ${deadlineMs} ms.`,
        ...this.#whyNot(leader),
        ...(leader === null ? {} : { leader }),
      }),
    );
  }

  #whyNot(leader: LeaderAddress | null): { readonly why: string; readonly todo?: string } {
    const fault = this.#lastFault;
    if (fault !== null) return { why: fault.message };
    const todo = 'Stop that server first, or use --role auto to take over when it ends.';
    return leader === null
      ? { why: 'The cluster has no leader.' }
      : { why: `The leader is ${leader.nodeId}.`, todo };
  }

  #gone(session: Session): void {
    const { gateway, say } = this.#options;
    if (!gateway.isOpen) return;
    const { workers } = gateway.leader();
    // One that has said goodbye is not missed.
    const isMissed = workers.sessions().some(({ sessionId }) => sessionId === session.sessionId);
    if (isMissed) say(`Worker ${session.nodeId} is dead: its process has ended.`, 'warn');
    workers.gone(session);
  }

  async #explain(job: JobId, tasks: readonly TaskId[]): Promise<ReadonlyMap<TaskId, string>> {
    const { gateway } = this.#options;
    return gateway.isOpen ? gateway.leader().jobs.explainAll(job, tasks) : new Map();
  }
}

/** The store has failed, not a rival or an order to stop. */
const STORE_TROUBLE: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'outcome_unknown']);

/** Nothing that clients send may bring this about. */
function faultLine(fault: MillraceError): string {
  return `FAULT: the leader reloads its state because of a bug in Millrace, please report it: ${fault.message}`;
}

function addressOf({ nodeId, url, grpc, epoch }: LeaderInfo): LeaderAddress {
  return { nodeId, url, grpc, epoch };
}
