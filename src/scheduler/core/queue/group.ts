import { LinkedList } from '../memory/linked-list.ts';
import type { Node } from '../node/node.ts';
import { PRIORITIES } from '../task/chart.ts';
import type { Lane } from './lane.ts';
import type { Requirement } from './requirement.ts';

/**
 * Nodes that may serve exactly the same requirements right now. A thousand equal workers are one
 * group, so finding work for any of them costs the same as for one.
 */
export class Group {
  readonly requirements: ReadonlySet<Requirement>;
  readonly nodes: Set<Node> = new Set();
  /** Nodes whose poll is parked and may take more, longest waiting first. */
  readonly waiting: LinkedList<Node> = new LinkedList();
  /** Lanes that may have work, by priority; lanes of one priority take turns. */
  readonly rings: readonly Set<Lane>[] = PRIORITIES.map(() => new Set<Lane>());

  constructor(requirements: ReadonlySet<Requirement>) {
    this.requirements = requirements;
    for (const requirement of requirements) {
      requirement.groups.add(this);
      for (const lane of requirement.lanes) {
        if (lane.announced) this.rings[lane.priority]?.add(lane);
      }
    }
  }

  get mayHaveWork(): boolean {
    return this.rings.some((ring) => ring.size > 0);
  }

  /** Work that is more urgent than this priority. */
  mayHaveWorkBefore(priority: number): boolean {
    return this.rings.some((ring, at) => at < priority && ring.size > 0);
  }

  /** The last node has gone: the group is not used any more. */
  dissolve(): void {
    for (const requirement of this.requirements) requirement.groups.delete(this);
  }
}
