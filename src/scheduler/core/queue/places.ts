import { FRAGMENT_EXECUTOR } from '../fragment.ts';
import type { JobNo, TaskNo } from '../ids.ts';
import type { Node } from '../node/node.ts';

/**
 * Where fragments of queries will likely run, before they are ready: the places of all nodes that run fragments, in
 * turn. A task prefers the place of its number, so the tasks of a stage are spread evenly. Nothing rests on it: a free
 * slot takes what there is.
 */
export class Places {
  readonly #nodes: ReadonlySet<Node>;
  #inTurn: readonly Node[] | null = null;

  constructor(nodes: ReadonlySet<Node>) {
    this.#nodes = nodes;
  }

  /** A node has come, gone, or takes other work than before. */
  changed(): void {
    this.#inTurn = null;
  }

  /** Null if no node runs fragments. */
  preferredBy(jobNo: JobNo, taskNo: TaskNo): Node | null {
    const places = (this.#inTurn ??= inTurn(this.#nodes));
    return places[(jobNo + taskNo) % places.length] ?? null;
  }
}

function inTurn(all: ReadonlySet<Node>): readonly Node[] {
  const nodes = [...all]
    .filter(
      ({ takesWork, quarantinedUntil, executors }) =>
        takesWork && quarantinedUntil === null && executors.has(FRAGMENT_EXECUTOR),
    )
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const most = Math.max(0, ...nodes.map(({ bulkMax }) => bulkMax));
  return Array.from({ length: most }, (_, round) =>
    nodes.filter(({ bulkMax }) => bulkMax > round),
  ).flat();
}
