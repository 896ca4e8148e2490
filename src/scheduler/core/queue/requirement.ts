import type { Placement } from '../document/document.ts';
import type { NodeId } from '../ids.ts';
import { PRIORITIES } from '../task/chart.ts';
import { mix } from '../random.ts';
import type { Group } from './group.ts';
import { Lane } from './lane.ts';

/** Executors whose tasks take seconds and all processors: they leave room for others on every node. */
const BULK_EXECUTORS: ReadonlySet<string> = new Set(['sql.fragment']);

/** How a task that went wrong before is placed, beyond what its document asks. */
export interface PlacementRestriction {
  /** Not on this node while another one can run it. */
  readonly avoids: NodeId | null;
  /** On a node that runs nothing else meanwhile. */
  readonly isAlone: boolean;
}

export const UNRESTRICTED: PlacementRestriction = { avoids: null, isAlone: false };

/** What a task requires of a node, shared by all tasks with the same requirement. Tasks wait in its lanes; the nodes
 * that may serve them are known by group, so tasks that no node can run cost polls nothing. */
export class Requirement {
  readonly id: number;
  readonly text: string;
  readonly executor: string;
  readonly placement: Placement;
  readonly restriction: PlacementRestriction;
  /** Its tasks are fragments of queries. */
  readonly isBulk: boolean;
  /** Tasks with the same document but another restriction: a limit per node holds for all of them together. */
  readonly kin: Set<Requirement>;
  readonly lanes: readonly Lane[];
  /** Groups of nodes that may be given these tasks now. */
  readonly groups: Set<Group> = new Set();
  /** Nodes that may be given it as a first choice: those in quarantine are the last. */
  able = 0;
  /** Tasks in memory that ask this. */
  tasks = 0;
  /** Two random-looking words: a group is known by the exclusive-or of its requirements'. */
  readonly hash: readonly [number, number];

  constructor(id: number, text: string, asked: Asked, kin: Set<Requirement>) {
    this.id = id;
    this.text = text;
    this.executor = asked.executor;
    this.placement = asked.placement;
    this.restriction = asked.restriction;
    this.isBulk = BULK_EXECUTORS.has(asked.executor);
    this.kin = kin;
    kin.add(this);
    this.lanes = PRIORITIES.map((priority) => new Lane(this, priority));
    this.hash = [mix(id, 1), mix(id, 2)];
  }

  /** Some task of it is queued. */
  get isWaited(): boolean {
    return this.lanes.some(({ queue }) => !queue.isEmpty);
  }

  /** Of the most urgent task of it that is queued. */
  get priority(): number {
    return this.lanes.findIndex(({ queue }) => !queue.isEmpty);
  }
}

export interface Asked {
  readonly executor: string;
  readonly placement: Placement;
  readonly restriction: PlacementRestriction;
}
