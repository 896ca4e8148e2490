/** Events by time; those of the same time in the order in which they were put in. */
export interface Queued {
  readonly atMs: number;
  readonly no: number;
  /** Null once it was taken back. */
  act: (() => void) | null;
}

export class EventQueue {
  readonly #heap: Queued[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(item: Queued): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Queued;
      if (!isBefore(item, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = item;
  }

  peek(): Queued | undefined {
    return this.#heap[0];
  }

  pop(): Queued | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length > 0 && last !== undefined) this.#sink(last);
    return first;
  }

  #sink(item: Queued): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as Queued)) child += 1;
      const below = heap[child] as Queued;
      if (!isBefore(below, item)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = item;
  }
}

function isBefore(a: Queued, b: Queued): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.no < b.no);
}
