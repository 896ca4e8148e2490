/**
 * Recommends to each worker how many bytes it should have on the way from each node whose outputs it fetches. More than
 * it takes in only fills memory: its own, and that of the workers that send.
 */
import type { NodeId } from '../core/index.ts';
import type { WorkerFigures, WorkerOrders } from '../contract/index.ts';

/** What a worker takes in within this time should be on its way. It is many times a round trip, so a window can grow again. */
const WINDOW_SECONDS = 2;
/** With less, each call would cost more than it brings. */
const WINDOW_BYTES_MIN: number = 2 * 2 ** 20;
/** What a node that all others read from at the same time should have on its way to them. */
const PUBLISH_BYTES: number = 256 * 2 ** 20;
/** A worker that has not been heard for so long fetches nothing. */
const HEARD_MS = 30_000;

interface Heard {
  readonly bytesPerSecond: number;
  readonly atMs: number;
}

export class FetchWindows {
  readonly #bytesMax: number;
  /** Workers that are fetching. */
  readonly #heard: Map<NodeId, Heard> = new Map();
  readonly #windows: Map<NodeId, number> = new Map();

  /** `bytesMax` is the largest window; 0 if nothing is recommended. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** As a worker has measured it. */
  heard(
    nodeId: NodeId,
    { fetchBytesPerSecond: bytesPerSecond }: Pick<WorkerFigures, 'fetchBytesPerSecond'>,
    atMs: number,
  ): void {
    if (this.#bytesMax === 0) return;
    if (bytesPerSecond === 0) return this.#forget(nodeId);
    this.#heard.set(nodeId, { bytesPerSecond, atMs });
    for (const [id, { atMs: lastMs }] of this.#heard)
      if (lastMs < atMs - HEARD_MS) this.#forget(id);
    this.#windows.set(nodeId, windowBytes(bytesPerSecond, this.#heard.size, this.#bytesMax));
  }

  /** The orders for a worker, with its window if it has one. */
  with(nodeId: NodeId, orders: WorkerOrders): WorkerOrders {
    const fetchWindowBytes = this.#windows.get(nodeId);
    return fetchWindowBytes === undefined ? orders : { ...orders, fetchWindowBytes };
  }

  #forget(nodeId: NodeId): void {
    this.#heard.delete(nodeId);
    this.#windows.delete(nodeId);
  }
}

/** For a worker that takes in so much, while so many of them fetch. */
function windowBytes(bytesPerSecond: number, fetching: number, bytesMax: number): number {
  const share = Math.floor(PUBLISH_BYTES / fetching);
  const wanted = Math.min(bytesPerSecond * WINDOW_SECONDS, share);
  return Math.min(bytesMax, Math.max(WINDOW_BYTES_MIN, Math.ceil(wanted)));
}
