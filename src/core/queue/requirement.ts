import type { Placement } from '../document/document.ts';
import { PRIORITIES } from '../task/chart.ts';
import { mix } from '../random.ts';
import type { Group } from './group.ts';
import { Lane } from './lane.ts';

/**
 * What a task asks of a node, shared by all tasks that ask the same. Tasks wait in its lanes; who
 * may serve them is known by group, so tasks that nobody can run cost no poll anything.
 */
export class Requirement {
  readonly id: number;
  readonly text: string;
  readonly executor: string;
  readonly placement: Placement;
  readonly lanes: readonly Lane[];
  /** Groups of nodes that may be given these tasks now. */
  readonly groups: Set<Group> = new Set();
  /** Nodes that may be given it as a first choice: those in quarantine are the last. */
  able = 0;
  /** Tasks in memory that ask this. */
  tasks = 0;
  /** Two random-looking words: a group is known by the exclusive-or of its requirements'. */
  readonly hash: readonly [number, number];

  constructor(id: number, text: string, executor: string, placement: Placement) {
    this.id = id;
    this.text = text;
    this.executor = executor;
    this.placement = placement;
    this.lanes = PRIORITIES.map((priority) => new Lane(this, priority));
    this.hash = [mix(id, 1), mix(id, 2)];
  }
}
