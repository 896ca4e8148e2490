/** What the leader tells workers about the rows that they fetch from each other: how much at a time, and what in advance. */
import type { NodeId, SchedulerState, SessionId } from '../core/index.ts';
import type {
  EarlyRead,
  FetchAhead,
  HeldFragment,
  WorkerOrders,
  WorkerReport,
} from '../contract/index.ts';
import { FetchWindows } from './fetch-windows.ts';
import type { ServiceOptions } from './service-options.ts';

/** A parked poll is answered for this much; less waits for the next answer. */
const WORTH_AN_ANSWER_BYTES: number = 4 * 2 ** 20;
/** Characters that wait for one node. What is left out it fetches later. */
const WAITING_MAX = 512 * 1024;

/** For one node, until it is answered. */
interface Waiting {
  /** Of partitions. */
  bytes: number;
  characters: number;
  readonly reads: EarlyRead[];
}

export class FetchOrders {
  readonly #options: Pick<ServiceOptions, 'dispatcher' | 'planner'>;
  readonly #windows: FetchWindows;
  readonly #waiting: Map<NodeId, Waiting> = new Map();

  constructor(options: Pick<ServiceOptions, 'dispatcher' | 'planner' | 'settings'>) {
    this.#options = options;
    this.#windows = new FetchWindows(options.settings.fetchWindowBytes);
  }

  readonly heard: FetchWindows['heard'] = (...given) => this.#windows.heard(...given);

  /** The orders for a worker, with what it should know about its fetches. */
  with(nodeId: NodeId, orders: WorkerOrders): WorkerOrders {
    const paced = this.#windows.with(nodeId, orders);
    const waiting = this.#waiting.get(nodeId);
    if (waiting === undefined) return paced;
    this.#waiting.delete(nodeId);
    const reads = this.#options.dispatcher.peek((state) =>
      waiting.reads.filter((read) => isAhead(state, read)),
    );
    if (reads.length === 0) return paced;
    return { ...paced, fetchAhead: [...(paced.fetchAhead ?? []), ...byQuery(reads)] };
  }

  /** These reports, by their places, have ended fragments. */
  async committed(
    fragments: ReadonlyMap<number, HeldFragment>,
    reports: readonly WorkerReport[],
    isAccepted: (at: number) => boolean,
  ): Promise<void> {
    const results = this.#options.planner?.fragments;
    for (const [at, fragment] of fragments) {
      const report = reports[at];
      if (results === undefined || report?.kind !== 'completed' || !isAccepted(at)) continue;
      if (report.result === null) continue;
      // Nothing rests on it, so nothing fails with it.
      const reads = await results.committed(fragment, report.result).catch(() => []);
      if (reads.length > 0) this.#add(reads, fragment.nodeId);
    }
  }

  /** `reporter` is being answered now. */
  #add(reads: readonly EarlyRead[], reporter: NodeId): void {
    const { dispatcher } = this.#options;
    const parked = dispatcher.peek((state) => this.#spread(state, reads));
    for (const each of parked)
      if (each.nodeId !== reporter) dispatcher.tell({ type: 'hangUp', ...each });
  }

  /** Returns the polls that should be answered now. */
  #spread(state: SchedulerState, reads: readonly EarlyRead[]): readonly ParkedPoll[] {
    for (const nodeId of this.#waiting.keys())
      if (!state.nodes.has(nodeId)) this.#waiting.delete(nodeId);
    const parked = new Map<NodeId, ParkedPoll>();
    for (const read of reads) {
      const job = state.jobsById.get(read.query);
      const node = job && state.matching.places.preferredBy(job.no, read.reader);
      if (node === undefined || node === null || node.id === read.nodeId) continue;
      const { id: nodeId, sessionId, poll } = node;
      if (this.#wait(nodeId, read) && poll !== null)
        parked.set(nodeId, { nodeId, sessionId, pollNo: poll.no });
    }
    return [...parked.values()];
  }

  /** Returns whether the node should be answered now. */
  #wait(nodeId: NodeId, read: EarlyRead): boolean {
    const waiting = this.#waiting.get(nodeId) ?? { bytes: 0, characters: 0, reads: [] };
    this.#waiting.set(nodeId, waiting);
    if (waiting.characters + read.read.length > WAITING_MAX) return false;
    waiting.reads.push(read);
    waiting.bytes += read.bytes;
    waiting.characters += read.read.length;
    return waiting.bytes >= WORTH_AN_ANSWER_BYTES;
  }
}

interface ParkedPoll {
  readonly nodeId: NodeId;
  readonly sessionId: SessionId;
  readonly pollNo: number;
}

/** The task is not ready yet. When it is, it comes with all that it reads. */
function isAhead({ jobsById, tasks }: SchedulerState, { query, reader }: EarlyRead): boolean {
  const slot = jobsById.get(query)?.slot(reader) ?? null;
  return slot !== null && tasks.state(slot) === 'blocked';
}

function byQuery(reads: readonly EarlyRead[]): readonly FetchAhead[] {
  const texts = new Map<FetchAhead['query'], string[]>();
  for (const { query, read } of reads) {
    const known = texts.get(query);
    if (known === undefined) texts.set(query, [read]);
    else known.push(read);
  }
  return [...texts].map(([query, each]) => ({ query, reads: `[${each.join(',')}]` }));
}
