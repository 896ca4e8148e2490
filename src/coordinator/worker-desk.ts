/** What workers ask of a leader. They have no database: this is all they get to see. */
import { MillraceError, utf8Bytes } from '../core/index.ts';
import type {
  Ask,
  Assignment,
  Instant,
  LeaseName,
  NodeId,
  NodeOffer,
  Orders,
  ReplyBody,
  Report,
  ReportItem,
  TaskDocument,
  Verdict,
} from '../core/index.ts';
import { refKey } from '../store/index.ts';
import type {
  Beat,
  Handshake,
  LeaderForWorkers,
  PollReply,
  PollRequest,
  ReadyAssignment,
  Registered,
  ReportReply,
  Session,
  WorkerOrders,
} from '../protocol/index.ts';
import { checkHandshake } from './handshake.ts';
import type { FindTask, Unresolvable } from './payloads.ts';
import type { DeskOptions } from './job-desk.ts';
import { keyScopes, knownKeys } from './known-keys.ts';
import type { KnownKeys } from './known-keys.ts';
import { checkedOffer } from './checks.ts';
import { cleanText } from './text.ts';

export class WorkerDesk implements LeaderForWorkers {
  readonly #options: DeskOptions;

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  async register(given: NodeOffer, handshake: Handshake): Promise<Registered> {
    const { dispatcher, handshake: own } = this.#options;
    checkHandshake(own, handshake);
    const offer = checkedOffer(given);
    const reply = await dispatcher.ask((ask) => ({ type: 'register', ask, offer }));
    const { sessionTtlMs, heartbeatMs } = expect(reply, 'registered');
    return { sessionTtlMs, heartbeatMs };
  }

  async heartbeat({ executors, ...beat }: Beat): Promise<WorkerOrders> {
    const { dispatcher } = this.#options;
    const reply = await dispatcher.ask((ask) => ({ type: 'heartbeat', ask, ...beat }));
    const { orders } = expect(reply, 'orders');
    this.#checkOffer(beat, executors);
    return this.#paced(orders);
  }

  /** A node that offers other executors than it registered must say so in a registration. */
  #checkOffer({ nodeId, sessionId }: Session, executors: readonly string[]): void {
    const node = this.#options.dispatcher.peek((state) => state.nodes.get(nodeId));
    if (node?.sessionId !== sessionId) return;
    const isSame =
      executors.length === node.executors.size &&
      executors.every((name) => node.executors.has(name));
    if (isSame) return;
    throw new MillraceError({
      code: 'unknown_session',
      what: `Node ${nodeId} offers other executors than it registered.`,
      todo: 'Register anew.',
    });
  }

  /** A leader that cannot keep up asks its workers to call less often. */
  #paced(orders: Orders): WorkerOrders {
    const { pressure } = this.#options.dispatcher;
    return { ...orders, slowDownMs: pressure < 0.5 ? 0 : Math.ceil(pressure * SLOW_DOWN_MS) };
  }

  /** Parks until there is work, an order, or the signal asks for an empty answer. */
  async poll(request: PollRequest, signal?: AbortSignal): Promise<PollReply> {
    const { dispatcher } = this.#options;
    const { nodeId, sessionId, pollNo } = request;
    const hangUp = (): void => {
      // `ask` is not used: the reply goes to the parked poll itself.
      dispatcher.tell({ type: 'hangUp', nodeId, sessionId, pollNo });
    };
    signal?.addEventListener('abort', hangUp, { once: true });
    try {
      const asked = dispatcher.ask((ask) => ({ type: 'poll', ask, ...request }));
      if (signal?.aborted === true) hangUp();
      const { assignments, orders } = expect(await asked, 'assignments');
      return {
        assignments: await this.#hydrate(request, assignments),
        orders: this.#paced(orders),
      };
    } finally {
      signal?.removeEventListener('abort', hangUp);
    }
  }

  /**
   * As many as one answer holds; the worker does not hold the others, so they are sent again with its
   * next poll. A task whose input cannot be made fails here: no worker could do better with it.
   */
  async #hydrate(
    session: Session,
    assignments: readonly Assignment[],
  ): Promise<readonly ReadyAssignment[]> {
    const { payloads, dispatcher } = this.#options;
    const find: FindTask = (jobNo, id) =>
      dispatcher.peek((state) => state.jobs.get(jobNo)?.taskNo(id, state.tasks) ?? null);
    const all: ReadyAssignment[] = [];
    let characters = 0;
    for (let at = 0; at < assignments.length && characters < ANSWER_MAX; at += PORTION) {
      const portion = assignments.slice(at, at + PORTION);
      const { ready, failed } = await payloads.hydrate(portion, find);
      for (const assignment of ready) {
        characters += assignment.input.length;
        all.push(assignment);
      }
      if (failed.length > 0) await this.report(session, failed.map(asFailed));
    }
    return all;
  }

  async report(session: Session, items: readonly ReportItem[]): Promise<ReportReply> {
    const { dispatcher } = this.#options;
    const { nodeId, sessionId } = session;
    const checked = items.map((item) => this.#checked(item));
    const event = (ask: Ask, all: readonly ReportItem[]): Report => ({
      type: 'report',
      ask,
      nodeId,
      sessionId,
      items: all,
    });
    const scopes = checked.flatMap((item) => keyScopes(childrenOf(item)));
    const reply = expect(
      scopes.length === 0
        ? await dispatcher.ask((ask) => event(ask, checked))
        : await dispatcher.askAfter(
            () => knownKeys(this.#options, scopes),
            (keys, ask) =>
              event(
                ask,
                checked.map((item) => withKeys(item, keys)),
              ),
          ),
      'verdicts',
    );
    const verdicts = await this.#verify(items, reply.verdicts);
    return { verdicts, orders: this.#paced(reply.orders) };
  }

  /** What the store could not keep, or no consumer could read, fails the task instead. */
  #checked(item: ReportItem): ReportItem {
    const { resultBytesMax, stepBytesMax } = this.#options.settings;
    switch (item.kind) {
      case 'completed': {
        const fault = item.result === null ? null : payloadFault(item.result, resultBytesMax);
        return fault === null ? item : refused(item.lease, 'bad_result', `its result ${fault}`);
      }
      case 'step': {
        const fault = payloadFault(item.body, stepBytesMax);
        if (fault === null) return { ...item, name: cleanText(item.name) };
        return refused(
          item.lease,
          'bad_step',
          `the result of step ${cleanText(item.name)} ${fault}`,
        );
      }
      case 'failed': {
        const { code, message } = item.error;
        return { ...item, error: { code: cleanText(code), message: cleanText(message) } };
      }
      case 'progress':
        return {
          ...item,
          fraction: Number.isFinite(item.fraction) ? item.fraction : 0,
          note: item.note === null ? null : cleanText(item.note),
        };
      case 'started':
      case 'aborted':
      case 'released':
        return item;
      case 'suspended': {
        const { until, lease } = item;
        if (until.type !== 'time' || isDuration(until.forMs)) return item;
        return refused(lease, 'bad_sleep', `it wants to sleep for ${until.forMs} ms`);
      }
    }
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

  async leave(session: Session): Promise<void> {
    const { nodeId, sessionId } = session;
    await this.#options.dispatcher.ask((ask) => ({ type: 'leave', ask, nodeId, sessionId }));
  }

  /** Where the session can be reached, if it lives and has said so. */
  addressOf({ nodeId, sessionId }: Session): string | null {
    const node = this.#options.dispatcher.peek((state) => state.nodes.get(nodeId));
    return node?.sessionId === sessionId ? node.offer.address : null;
  }

  /** When the node was heard last; null when it is not known. */
  seenAt(nodeId: NodeId): Instant | null {
    return this.#options.dispatcher.peek((state) => state.nodes.get(nodeId)?.seenAt ?? null);
  }

  /** Somebody has proof that the process behind the session is gone. */
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

function childrenOf(item: ReportItem): readonly TaskDocument[] {
  return item.kind === 'suspended' && item.until.type === 'children' ? item.until.tasks : [];
}

/** Children may name keys that only the store knows. */
function withKeys(item: ReportItem, keys: KnownKeys): ReportItem {
  if (item.kind !== 'suspended' || item.until.type !== 'children') return item;
  return { ...item, until: { ...item.until, ...keys } };
}

/** Characters of input in one answer, and assignments whose inputs are made at once. */
const ANSWER_MAX = 16 * 1024 * 1024;
const PORTION = 32;

function asFailed({ assignment: { lease }, error }: Unresolvable): ReportItem {
  const clean = { code: error.code, message: cleanText(error.message) };
  return { kind: 'failed', lease, error: clean, failure: 'fatal' };
}

/** The longest wish to be left alone. */
const SLOW_DOWN_MS = 1_000;

/** Ten years, like the timeouts in a document. */
const SLEEP_MS_MAX = 3_650 * 24 * 3_600_000;

function isDuration(ms: number): boolean {
  return Number.isSafeInteger(ms) && ms >= 0 && ms <= SLEEP_MS_MAX;
}

function payloadFault(text: string, bytesMax: number): string | null {
  if (text.length > bytesMax || utf8Bytes(text) > bytesMax) return `is over ${bytesMax} bytes`;
  if (/\p{Surrogate}/u.test(text)) return 'has half of a surrogate pair in it';
  try {
    JSON.parse(text);
    return null;
  } catch {
    return 'is not JSON';
  }
}

function refused(lease: LeaseName, code: string, message: string): ReportItem {
  return { kind: 'failed', lease, error: { code, message }, failure: 'fatal' };
}

function expect<T extends ReplyBody['type']>(
  reply: ReplyBody,
  type: T,
): Extract<ReplyBody, { type: T }> {
  if (reply.type === type) return reply as Extract<ReplyBody, { type: T }>;
  throw new MillraceError({ code: 'invariant', what: `${type} was asked, ${reply.type} answered` });
}
