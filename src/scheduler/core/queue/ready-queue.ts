/**
 * Ready tasks in queue. Adding, removing and taking one costs O(log n) in the tasks queued, and a
 * poll that can get nothing costs O(1): everything that cannot be taken now is parked where its
 * obstacle is (a requirement without nodes, a job at its limit, a full concurrency key).
 *
 * What is parked at a key comes back by this rule: while the key has a place and a lane has parked
 * tasks of jobs below their limits, one of them stands in that lane. Every event that could break
 * it ends in `#wake`.
 */
import type { Concurrency } from '../document/document.ts';
import { invariant } from '../errors.ts';
import type { JobNo } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { Node } from '../node/node.ts';
import { PRIORITIES } from '../task/chart.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import type { Group } from './group.ts';
import type { JobQueue } from './job-queue.ts';
import type { Lane } from './lane.ts';
import { Limit } from './limit.ts';
import type { Matching } from './matching.ts';
import type { Requirement } from './requirement.ts';

export class ReadyQueue {
  readonly #tasks: TaskTable;
  readonly #matching: Matching;
  readonly #limits: Map<string, Limit> = new Map();
  /** The virtual time of the job served last, that is the round of turns now under way. */
  #round = 0;
  #size = 0;

  constructor(tasks: TaskTable, matching: Matching) {
    this.#tasks = tasks;
    this.#matching = matching;
  }

  get size(): number {
    return this.#size;
  }

  /** Concurrency keys that tasks in memory name. */
  get limitCount(): number {
    return this.#limits.size;
  }

  /** The limit shared by all tasks that name the key, with one more of them. */
  limitFor(concurrency: Concurrency, jobNo: JobNo): Limit {
    let limit = this.#limits.get(concurrency.key);
    if (limit === undefined) {
      limit = new Limit(concurrency.key, concurrency.limit, jobNo);
      this.#limits.set(concurrency.key, limit);
    } else if (jobNo >= limit.saidBy) {
      limit.saidBy = jobNo;
      limit.max = concurrency.limit;
      this.#wakeAll(limit);
    }
    limit.tasks += 1;
    return limit;
  }

  /** A task that named this limit has left the memory. */
  dropLimit(limit: Limit): void {
    limit.tasks -= 1;
    invariant(limit.tasks >= 0, 'a concurrency key has no fewer than no tasks');
    if (limit.tasks === 0) this.#limits.delete(limit.key);
  }

  add(slot: Slot): void {
    invariant(this.#tasks.state(slot) === 'ready', 'only ready tasks are queued');
    const job = this.#tasks.job(slot);
    // A job that had nothing queued joins the next round: it has saved up no turns, and newcomers do not push waiting
    // jobs to the back.
    if (job.queued === 0) job.virtualTime = Math.max(job.virtualTime, this.#round + 1);
    job.queued += 1;
    this.#size += 1;
    const lane = this.#lane(slot);
    const limit = this.#tasks.limit(slot);
    if (limit?.full === true) limit.park(lane).add(slot, this.#tasks, 'back');
    else this.#enqueue(slot, lane);
  }

  /** The task is no longer ready: cancelled, timed out. */
  remove(slot: Slot): void {
    const queue = this.#tasks.queue(slot);
    invariant(queue !== null, 'a ready task is queued');
    this.#leave(slot);
    queue.home.remove(queue, slot, this.#tasks);
    const limit = this.#tasks.limit(slot);
    if (limit === null) return;
    limit.forgetIfEmpty(queue.home.lane);
    if (queue.home.limit === null) this.#wake(limit, queue.home.lane);
  }

  /**
   * The best task for a node of the group, taken out of the queue; null if there is none. Of one priority, fragments
   * of queries come last on a node that runs its share of them: a place that they take is taken for seconds.
   */
  take(group: Group, node: Node): Slot | null {
    for (const ring of group.rings) {
      const slot = this.#takeOf(ring, node, !node.hasBulkShare);
      if (slot !== null) return slot;
      if (!node.hasBulkShare) continue;
      const bulk = this.#takeOf(ring, node, true);
      if (bulk !== null) return bulk;
    }
    return null;
  }

  #takeOf(ring: Set<Lane>, node: Node, withBulk: boolean): Slot | null {
    const mayBulk = withBulk && node.mayTakeBulk;
    for (const lane of ring) {
      if (lane.requirement.isBulk && !mayBulk) continue;
      const slot = this.#takeFrom(lane);
      ring.delete(lane);
      if (slot === null) {
        lane.announced = false;
        continue;
      }
      ring.add(lane); // to the back: lanes of one priority take turns
      return slot;
    }
    return null;
  }

  /** The best task of the requirements that pass, taken out of the queue; null if there is none. */
  takeWhere(
    requirements: ReadonlySet<Requirement>,
    passes: (requirement: Requirement) => boolean,
  ): Slot | null {
    const waited = [...requirements].filter((each) => each.isWaited && passes(each));
    for (const priority of PRIORITIES) {
      for (const { lanes } of waited) {
        const slot = this.#takeFrom(lanes[priority] as Lane);
        if (slot !== null) return slot;
      }
    }
    return null;
  }

  /** A lease of the job was given. */
  assigned(slot: Slot): void {
    this.#tasks.job(slot).assigned += 1;
    const limit = this.#tasks.limit(slot);
    if (limit === null) return;
    const lane = this.#lane(slot);
    limit.held += 1;
    limit.served(lane);
    this.#wake(limit, lane);
  }

  /** A lease of the job ended: what waited for its place may come forward. */
  released(slot: Slot): void {
    const job = this.#tasks.job(slot);
    job.assigned -= 1;
    invariant(job.assigned >= 0, 'a job holds no fewer than no leases');
    this.#unparkJob(job);
    const limit = this.#tasks.limit(slot);
    if (limit === null) return;
    limit.held -= 1;
    invariant(limit.held >= 0, 'a concurrency key holds no fewer than no leases');
    this.#wakeAll(limit);
  }

  #takeFrom(lane: Lane): Slot | null {
    const { queue: jobs } = lane;
    for (;;) {
      const queue = jobs.next(this.#onParked);
      if (queue === null) return null;
      const slot = queue.first();
      jobs.remove(queue, slot, this.#tasks);
      const limit = this.#tasks.limit(slot);
      if (limit?.full === true) {
        // One that was here before goes back to where it was.
        const at = queue.woken?.delete(limit) === true ? 'front' : 'back';
        limit.park(lane).add(slot, this.#tasks, at);
        continue;
      }
      this.#leave(slot);
      this.#round = Math.max(this.#round, queue.job.virtualTime);
      queue.job.virtualTime = this.#round + 1;
      return slot;
    }
  }

  #leave(slot: Slot): void {
    const job = this.#tasks.job(slot);
    this.#size -= 1;
    job.queued -= 1;
    invariant(job.queued >= 0, 'a job has no fewer than no queued tasks');
  }

  #enqueue(slot: Slot, lane: Lane): JobQueue {
    const queue = lane.queue.add(slot, this.#tasks, 'back');
    this.#announce(lane);
    return queue;
  }

  #announce(lane: Lane): void {
    if (lane.announced) return;
    lane.announced = true;
    for (const group of lane.requirement.groups) {
      group.rings[lane.priority]?.add(lane);
      if (group.waiting.size > 0) this.#matching.active.add(group);
    }
  }

  #unparkJob(job: Job): void {
    const queues = job.parkedQueues;
    if (queues === null || job.atLimit) return;
    job.parkedQueues = null;
    for (const queue of queues) {
      const { lane, limit } = queue.home;
      if (!queue.home.unpark(queue)) continue;
      if (limit === null) this.#announce(lane);
      else this.#wake(limit, lane);
    }
  }

  /** Tasks in the queue cannot be taken for now: their keys send others of their lanes instead. */
  readonly #onParked = (queue: JobQueue): void => {
    const { woken, home } = queue;
    queue.woken = null;
    for (const limit of woken ?? []) this.#wake(limit, home.lane);
  };

  #wakeAll(limit: Limit): void {
    for (const lane of limit.parkedLanes()) this.#wake(limit, lane);
  }

  /** If the key has a place, one of the lane's parked tasks goes back into the queue. */
  #wake(limit: Limit, lane: Lane): void {
    const parked = limit.full ? undefined : limit.parkedIn(lane);
    const queue = parked?.next(this.#onParked) ?? null;
    if (parked === undefined || queue === null) return;
    const slot = queue.first();
    parked.remove(queue, slot, this.#tasks);
    limit.forgetIfEmpty(lane);
    (this.#enqueue(slot, lane).woken ??= new Set()).add(limit);
  }

  #lane(slot: Slot): Lane {
    return this.#tasks.requirement(slot).lanes[this.#tasks.priority(slot)] as Lane;
  }
}
