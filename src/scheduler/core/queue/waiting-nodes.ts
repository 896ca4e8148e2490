/**
 * Nodes that wait for work, longest waiting first: a list whose links are in the nodes. Each task that is given out moves its node
 * to the end, and a set would make a new table after every few of these moves.
 */
import type { Node } from '../node/node.ts';

/** Where a node waits. */
export class WaitingPlace {
  line: WaitingNodes | null = null;
  before: Node | null = null;
  after: Node | null = null;
}

export class WaitingNodes {
  #first: Node | null = null;
  #last: Node | null = null;

  get first(): Node | null {
    return this.#first;
  }

  get isEmpty(): boolean {
    return this.#first === null;
  }

  has({ place }: Node): boolean {
    return place.line === this;
  }

  /** At the end, unless it waits already. */
  add(node: Node): void {
    const { place } = node;
    if (place.line === this) return;
    place.line = this;
    place.before = this.#last;
    if (this.#last === null) this.#first = node;
    else this.#last.place.after = node;
    this.#last = node;
  }

  delete(node: Node): void {
    const { place } = node;
    if (place.line !== this) return;
    const { before, after } = place;
    if (before === null) this.#first = after;
    else before.place.after = after;
    if (after === null) this.#last = before;
    else after.place.before = before;
    place.line = null;
    place.before = null;
    place.after = null;
  }

  /** Nothing may change meanwhile. */
  *values(): Generator<Node, void> {
    for (let node = this.#first; node !== null; node = node.place.after) yield node;
  }
}
