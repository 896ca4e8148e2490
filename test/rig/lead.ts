import { checkedSettings, instant } from '../../src/scheduler/core/index.ts';
import type {
  NamedBatch,
  Instant,
  JobId,
  LeaseName,
  MillraceError,
  NodeId,
  SessionId,
  Settings,
  TermId,
} from '../../src/scheduler/core/index.ts';
import { Leader, cronCalendar } from '../../src/scheduler/coordinator/index.ts';
import type { LeaderOptions } from '../../src/scheduler/coordinator/index.ts';
import { deferred, defined } from '../../src/kit/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import type {
  CommittedEvents,
  PollReply,
  ReadyAssignment,
  ReportReply,
  WorkerOrders,
} from '../../src/scheduler/contract/index.ts';
import { openMemoryStore } from '../../src/scheduler/store/index.ts';
import type { MemoryStore, Store } from '../../src/scheduler/store/index.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A leader on a virtual clock, elected by hand. */
export interface Led {
  readonly leader: Leader;
  readonly ended: Promise<MillraceError>;
}

/** Where virtual time starts: 2001, so that no time is zero. */
const EPOCH_MS = 1_000_000_000_000;

function virtualNow(clock: VirtualClock): () => Instant {
  return () => instant(EPOCH_MS + Math.floor(clock.monotonicMs()));
}

export function memoryStore(clock: VirtualClock): MemoryStore {
  return openMemoryStore({ now: virtualNow(clock) });
}

let terms = 0;

export interface LeadOptions extends Pick<
  LeaderOptions,
  'planner' | 'backlogMax' | 'worthBytes' | 'onFault' | 'onPruneFailed' | 'webhookSecrets'
> {
  readonly settings?: Partial<Settings>;
  readonly onCommitted?: (committed: CommittedEvents) => void;
  readonly onRows?: (rows: NamedBatch) => void;
}

export async function lead(
  store: Store,
  clock: VirtualClock,
  given: LeadOptions = {},
): Promise<Led> {
  const settings = checkedSettings(given.settings);
  terms += 1;
  const nodeId = `leader-${terms}`;
  const campaign = await store.campaign({
    shard: 0,
    nodeId,
    url: null,
    grpc: null,
    term: `term-${terms}` as TermId,
    ttlMs: settings.leaderTtlMs,
  });
  if (!campaign.won) throw new Error(`${campaign.leader.nodeId} leads`);
  const ended = deferred<MillraceError>();
  const leader = await Leader.start({
    store,
    clock,
    settings,
    calendar: cronCalendar,
    elected: { ...campaign, nodeId, askedAtMs: clock.monotonicMs() },
    onCommitted: (rows, at) => {
      given.onRows?.(rows);
      given.onCommitted?.({ term: campaign.term.id, events: rows.events, at });
    },
    onEnd: ended.resolve,
    ...defined({ backlogMax: given.backlogMax, worthBytes: given.worthBytes }),
    ...(given.webhookSecrets === undefined ? {} : { webhookSecrets: given.webhookSecrets }),
    ...(given.onPruneFailed === undefined ? {} : { onPruneFailed: given.onPruneFailed }),
    ...(given.onFault === undefined ? {} : { onFault: given.onFault }),
    ...(given.planner === undefined ? {} : { planner: given.planner }),
  });
  return { leader, ended: ended.promise };
}

/** A worker in name only: the test says what it does. */
export class ScriptedWorker {
  readonly session: { readonly nodeId: NodeId; readonly sessionId: SessionId };
  readonly executors: readonly string[];
  readonly held: LeaseName[] = [];
  leader: Leader;
  #pollNo = 0;

  private constructor(leader: Leader, name: string, executors: readonly string[]) {
    this.leader = leader;
    this.executors = executors;
    this.session = { nodeId: name as NodeId, sessionId: `${name}-1` as SessionId };
  }

  static async join(
    leader: Leader,
    name: string,
    executors: string[],
    process?: string,
  ): Promise<ScriptedWorker> {
    const worker = new ScriptedWorker(leader, name, executors);
    const offer = {
      id: worker.session.nodeId,
      sessionId: worker.session.sessionId,
      slots: 1_000,
      prefetch: 0,
      executors,
      capabilities: process === undefined ? {} : { process },
      address: null,
      version: '0.1.0',
    };
    await leader.workers.register(offer, ownHandshake());
    return worker;
  }

  /** Parks until there is work. */
  async poll(capacity: number, signal?: AbortSignal): Promise<readonly ReadyAssignment[]> {
    return (await this.pollFully(capacity, signal)).assignments;
  }

  async pollFully(capacity: number, signal?: AbortSignal): Promise<PollReply> {
    this.#pollNo += 1;
    const { session, held } = this;
    const request = { ...session, pollNo: this.#pollNo, capacity, held: [...held] };
    const reply = await this.leader.workers.poll(request, signal);
    this.held.push(...reply.assignments.map(({ lease }) => lease));
    return reply;
  }

  /** What can be had without waiting. */
  async pollNow(capacity: number): Promise<readonly ReadyAssignment[]> {
    return this.poll(capacity, AbortSignal.abort());
  }

  complete(lease: LeaseName, result: unknown = null): Promise<ReportReply> {
    const text = result === null ? null : JSON.stringify(result);
    return this.leader.workers.report(this.session, [{ kind: 'completed', lease, result: text }]);
  }

  beat(): Promise<WorkerOrders> {
    const { session, held, executors } = this;
    return this.leader.workers.heartbeat({ ...session, held, executors, seenPoll: this.#pollNo });
  }
}

export const jobId = (text: string): JobId => text as JobId;
