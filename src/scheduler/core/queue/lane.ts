import { FairQueue } from './fair-queue.ts';
import type { Requirement } from './requirement.ts';

/** Ready tasks with the same requirement and priority: jobs take turns, each first in, first out. */
export class Lane {
  readonly requirement: Requirement;
  readonly priority: number;
  readonly queue: FairQueue = new FairQueue(this, null);
  /** There may be tasks, and every group that may take them has this lane in its ring. */
  announced = false;

  constructor(requirement: Requirement, priority: number) {
    this.requirement = requirement;
    this.priority = priority;
  }
}
