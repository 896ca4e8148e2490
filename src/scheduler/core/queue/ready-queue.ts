/**
 * Ready tasks in queue. Adding, removing and taking one costs O(log n) in the tasks queued, and a
 * poll that can get nothing costs O(1): everything that cannot be taken now is parked where its
 * obstacle is (a requirement without nodes, a job at its limit, a full limit of its own).
 *
 * What is parked at a limit comes back by this rule: while the limit has a place and a lane has parked
 * tasks of jobs below their own limits, one of them stands in that lane. Every event that could break
 * it ends in `#wake`. A task with several limits is parked at the first of them that is full: when it comes back and
 * finds another one full it is parked there, and the limit that sent it sends another.
 */
import type { LimitFigures } from '../document/document.ts';
import { limitId } from '../document/options.ts';
import { invariant } from '../errors.ts';
import type { Instant, JobNo } from '../ids.ts';
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
import { Share } from './share.ts';

export class ReadyQueue {
  readonly #tasks: TaskTable;
  readonly #matching: Matching;
  readonly #limits: Map<string, Limit> = new Map();
  readonly #pausedKeys: Set<string> = new Set();
  readonly #shares: Map<string, Share> = new Map();
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

  /** Limits that tasks in memory name. */
  get limitCount(): number {
    return [...this.#limits.values()].filter(({ tasks }) => tasks > 0).length;
  }

  /** Fairness keys that jobs in memory have. */
  get shareCount(): number {
    return this.#shares.size;
  }

  limit(id: string): Limit | undefined {
    return this.#limits.get(id);
  }

  /** The turns of the jobs with this key, with one more of them. */
  shareFor(key: string): Share {
    const share = this.#shares.get(key) ?? new Share(key);
    this.#shares.set(key, share);
    share.jobs += 1;
    return share;
  }

  dropShare(share: Share): void {
    share.jobs -= 1;
    invariant(share.jobs >= 0, 'a fairness key has no fewer than no jobs');
    if (share.jobs === 0) this.#shares.delete(share.key);
  }

  /** A limit whose starts an earlier leader has counted. */
  restoreLimit(limit: Limit): void {
    this.#know(limit);
  }

  /** No task with a limit of this key is taken, until it is resumed. */
  pauseKey(key: string, isPaused: boolean): void {
    if (isPaused) this.#pausedKeys.add(key);
    else this.#pausedKeys.delete(key);
    for (const perMs of [null, 1]) {
      const limit = this.#limits.get(limitId({ key, perMs }));
      if (limit === undefined) continue;
      limit.isPaused = isPaused;
      this.#wakeAll(limit);
    }
  }

  #know(limit: Limit): void {
    limit.isPaused = this.#pausedKeys.has(limit.key);
    this.#limits.set(limit.id, limit);
  }

  /** Its period has moved on. True when nothing is left of it to remember. */
  limitDue(limit: Limit, now: Instant): boolean {
    limit.expire(now);
    this.#wakeAll(limit);
    if (limit.freeAt !== null) return false;
    if (limit.tasks === 0) this.#limits.delete(limit.id);
    return true;
  }

  /** The limit shared by all tasks that name the key, with one more of them. */
  limitFor(figures: LimitFigures, jobNo: JobNo): Limit {
    const id = limitId(figures);
    let limit = this.#limits.get(id);
    if (limit === undefined) {
      limit = new Limit(figures, jobNo);
      this.#know(limit);
    } else if (jobNo >= limit.saidBy) {
      limit.saidBy = jobNo;
      limit.max = figures.max;
      limit.perMs = figures.perMs;
      this.#wakeAll(limit);
    }
    limit.tasks += 1;
    return limit;
  }

  /** A task that named this limit has left the memory. */
  dropLimit(limit: Limit): void {
    limit.tasks -= 1;
    invariant(limit.tasks >= 0, 'a limit has no fewer than no tasks');
    // What was started in the period still counts.
    if (limit.tasks === 0 && limit.freeAt === null) this.#limits.delete(limit.id);
  }

  add(slot: Slot): void {
    invariant(this.#tasks.state(slot) === 'ready', 'only ready tasks are queued');
    const job = this.#tasks.job(slot);
    // A job that had nothing queued joins the next round: it has saved up no turns, and newcomers do not push waiting
    // jobs to the back.
    const { share } = job;
    if (job.queued === 0) {
      job.virtualTime = Math.max(job.virtualTime, (share?.round ?? this.#round) + 1);
    }
    if (share !== null) {
      if (share.queued === 0) share.virtualTime = Math.max(share.virtualTime, this.#round + 1);
      share.queued += 1;
    }
    job.queued += 1;
    this.#size += 1;
    const lane = this.#lane(slot);
    const limit = this.fullLimit(slot);
    if (limit !== null) limit.park(lane).add(slot, this.#tasks, 'back');
    else this.#enqueue(slot, lane);
  }

  /** The task is no longer ready: cancelled, timed out. */
  remove(slot: Slot): void {
    const queue = this.#tasks.queue(slot);
    invariant(queue !== null, 'a ready task is queued');
    this.#leave(slot);
    queue.home.remove(queue, slot, this.#tasks);
    const { lane } = queue.home;
    for (const limit of this.#tasks.limits(slot)) {
      limit.forgetIfEmpty(lane);
      if (queue.home.limit !== limit) this.#wake(limit, lane);
    }
  }

  /** The first of the task's limits that has no place for it; null when all have. Going on after a wait is not a
   * start, so a rate does not hold it up; a pause does. */
  fullLimit(slot: Slot): Limit | null {
    const isStart = this.#tasks.suspended(slot) === null;
    for (const limit of this.#tasks.limits(slot)) {
      if (limit.full && (limit.isPaused || limit.perMs === null || isStart)) return limit;
    }
    return null;
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
      const slot = this.#takeFrom(lane, node);
      if (slot === null) {
        ring.delete(lane);
        lane.announced = false;
        continue;
      }
      if (ring.size > 1) moveBack(ring, lane); // lanes of one priority take turns
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
        const slot = this.#takeFrom(lanes[priority] as Lane, null);
        if (slot !== null) return slot;
      }
    }
    return null;
  }

  /** A lease of the job was given, or found by a new leader: that one was started before. */
  assigned(slot: Slot, startedAt: Instant | null): void {
    this.#tasks.job(slot).assigned += 1;
    const lane = this.#lane(slot);
    for (const limit of this.#tasks.limits(slot)) {
      limit.held += 1;
      if (startedAt !== null) limit.start(startedAt);
      limit.served(lane);
      this.#wake(limit, lane);
    }
  }

  /** A lease of the job ended: what waited for its place may come forward. */
  released(slot: Slot): void {
    const job = this.#tasks.job(slot);
    job.assigned -= 1;
    invariant(job.assigned >= 0, 'a job holds no fewer than no leases');
    this.#unparkJob(job);
    for (const limit of this.#tasks.limits(slot)) {
      limit.held -= 1;
      invariant(limit.held >= 0, 'a limit holds no fewer than no leases');
      this.#wakeAll(limit);
    }
  }

  #takeFrom(lane: Lane, node: Node | null): Slot | null {
    const { queue: jobs } = lane;
    for (;;) {
      const queue = jobs.next(this.#onParked);
      if (queue === null) return null;
      const slot = node === null ? queue.first() : this.#firstFor(node, queue, lane);
      jobs.remove(queue, slot, this.#tasks);
      const limit = this.fullLimit(slot);
      if (limit !== null) {
        this.#parkAgain(queue, slot, limit);
        continue;
      }
      this.#leave(slot);
      this.#tookTurn(queue.job);
      return slot;
    }
  }

  /** Fragments prefer the node that may have their inputs already: see `Places`. */
  #firstFor(node: Node, queue: JobQueue, { requirement }: Lane): Slot {
    if (!requirement.isBulk || queue.size === 1) return queue.first();
    const { places } = this.#matching;
    const isMeant = (slot: Slot): boolean =>
      places.preferredBy(queue.job.no, this.#tasks.no(slot)) === node;
    return queue.firstOf(isMeant, this.#tasks);
  }

  #parkAgain(queue: JobQueue, slot: Slot, limit: Limit): void {
    const { lane } = queue.home;
    // One that was here before goes back to where it was.
    const at = queue.woken?.delete(limit) === true ? 'front' : 'back';
    limit.park(lane).add(slot, this.#tasks, at);
    // A limit that has a place, and has sent this one for it, sends another.
    for (const other of this.#tasks.limits(slot)) {
      if (other !== limit && queue.woken?.delete(other) === true) this.#wake(other, lane);
    }
  }

  #tookTurn(job: Job): void {
    const { share } = job;
    this.#round = Math.max(this.#round, (share ?? job).virtualTime);
    if (share === null) {
      job.virtualTime = this.#round + 1;
      return;
    }
    share.virtualTime = this.#round + 1;
    share.round = Math.max(share.round, job.virtualTime);
    job.virtualTime = share.round + 1;
  }

  #leave(slot: Slot): void {
    const job = this.#tasks.job(slot);
    this.#size -= 1;
    job.queued -= 1;
    if (job.share !== null) job.share.queued -= 1;
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

  /** Tasks in the queue cannot be taken for now: their limits send others of their lanes instead. */
  readonly #onParked = (queue: JobQueue): void => {
    const { woken, home } = queue;
    queue.woken = null;
    for (const limit of woken ?? []) this.#wake(limit, home.lane);
  };

  #wakeAll(limit: Limit): void {
    for (const lane of limit.parkedLanes()) this.#wake(limit, lane);
  }

  /** If the limit has a place, one of the lane's parked tasks goes back into the queue. */
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

function moveBack(ring: Set<Lane>, lane: Lane): void {
  ring.delete(lane);
  ring.add(lane);
}
