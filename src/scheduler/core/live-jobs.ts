/**
 * The jobs in memory, by number and by id. Those that wait far back in a long lane are packed; whoever asks for
 * one gets it as a job like any other.
 */
import { broken } from './errors.ts';
import type { JobId, JobNo } from './ids.ts';
import { taskNo } from './ids.ts';
import { Job } from './job/job.ts';
import { PagedMap } from './memory/paged-map.ts';
import { RenewedMap } from './memory/renewed.ts';
import { PackedJobs, isPlain } from './job/packed-jobs.ts';
import type { Limit } from './queue/limit.ts';
import type { Lane } from './queue/lane.ts';
import { PackedLine } from './queue/packed-line.ts';
import type { Settings } from './settings.ts';
import type { TaskTable } from './task/table.ts';

/** How many jobs stand as they are: a short queue has nothing to gain. */
export interface UnpackedJobs {
  /** In each lane. */
  readonly ofLane: number;
  /** In memory: to pack a job and to unpack it again costs as much as all else that the core does for it, so it is only done
   * where there are many. */
  readonly inAll: number;
}

export const UNPACKED_JOBS: UnpackedJobs = { ofLane: 2_000, inAll: 32_000 };

const NO_LIMITS: readonly Limit[] = [];

export interface JobsById {
  has(id: JobId): boolean;
  get(id: JobId): Job | undefined;
  /** It is queued: nobody has to unpack it to know. */
  isPacked(id: JobId): boolean;
}

export class LiveJobs {
  readonly #tasks: TaskTable;
  readonly #unpackedMax: UnpackedJobs;
  readonly #byNo: PagedMap<JobNo, Job> = new PagedMap();
  readonly #byId: RenewedMap<JobId, Job> = new RenewedMap();
  readonly packed: PackedJobs;
  /** The same by the ids that callers know. */
  readonly byId: JobsById = {
    has: (id) => this.#byId.has(id) || this.packed.findId(id) !== 0,
    get: (id) => this.#byId.get(id) ?? this.#unpacked(this.packed.findId(id)),
    isPacked: (id) => this.packed.findId(id) !== 0,
  };

  constructor(tasks: TaskTable, settings: Settings, unpackedMax: UnpackedJobs) {
    this.#tasks = tasks;
    this.#unpackedMax = unpackedMax;
    this.packed = new PackedJobs(settings);
  }

  get size(): number {
    return this.#byNo.size + this.packed.size;
  }

  has(no: JobNo): boolean {
    return this.#byNo.has(no) || this.packed.find(no) !== 0;
  }

  get(no: JobNo): Job | undefined {
    return this.#byNo.get(no) ?? this.#unpacked(this.packed.find(no));
  }

  /** Those that are not packed. */
  values(): Iterable<Job> {
    return this.#byNo.values();
  }

  add(job: Job): void {
    if (this.has(job.no) || this.byId.has(job.id)) broken(`job ${job.id} came twice`);
    this.#byNo.set(job.no, job);
    this.#byId.set(job.id, job);
  }

  remove(no: JobNo, id: JobId): void {
    this.#byNo.delete(no);
    this.#byId.delete(id);
  }

  /** At the end of the step that has queued it: nobody has the job in hand any more. */
  packIfFar(job: Job): void {
    const tasks = this.#tasks;
    const slot = job.slots[0];
    const queue = slot === undefined ? null : tasks.queue(slot);
    if (slot === undefined || queue?.standing !== 'in' || queue.home.limit !== null) return;
    const { lane } = queue.home;
    const { ofLane, inAll } = this.#unpackedMax;
    const isShort = lane.queue.jobCount <= ofLane || this.#byNo.size <= inAll;
    // Behind packed ones all are packed. Mostly there are none: the rest is not looked at then.
    if (isShort && (lane.queue.line?.size ?? 0) === 0) return;
    if (!isPlain(job, tasks)) return;
    const line = lane.queue.line ?? new PackedLine(this.#sourceFor(lane));
    if (!line.isLast(job.virtualTime, job.no)) return;
    lane.queue.remove(queue, slot, tasks);
    this.packed.add(job, slot, tasks, line);
    lane.queue.stand(line);
    tasks.free(slot);
    this.remove(job.no, job.id);
  }

  #sourceFor(lane: Lane): ConstructorParameters<typeof PackedLine>[0] {
    const { packed } = this;
    return {
      virtualTime: (entry) => packed.virtualTime(entry),
      jobNo: (entry) => packed.jobNo(entry),
      queuedAt: (entry) => packed.queuedAt(entry),
      unpack: (entry) => void this.#unpackFrom(lane, entry),
    };
  }

  #unpacked(entry: number): Job | undefined {
    if (entry === 0) return undefined;
    const { requirement, taskPriority } = this.packed.kind(entry);
    return this.#unpackFrom(requirement.lanes[taskPriority] as Lane, entry);
  }

  /** As it was before: its turn comes when it would have come. */
  #unpackFrom(lane: Lane, entry: number): Job {
    const tasks = this.#tasks;
    const unpacked = this.packed.take(entry, lane.queue.line as PackedLine);
    const { kind } = unpacked;
    const job = Job.queued(unpacked, kind);
    const slot = tasks.add({
      job,
      no: taskNo(0),
      id: kind.taskId,
      priority: kind.taskPriority,
      parent: null,
      isAwaited: false,
      isAdded: false,
      requirement: kind.requirement,
      options: kind.taskOptions,
      limits: NO_LIMITS,
      key: null,
    });
    job.slots = [slot];
    tasks.restoreState(slot, 'ready');
    tasks.opened(slot);
    tasks.queuedAt.set(slot, unpacked.queuedAt);
    job.virtualTime = unpacked.virtualTime;
    job.queued = 1;
    this.#byNo.set(job.no, job);
    this.#byId.set(job.id, job);
    lane.queue.add(slot, tasks, 'back');
    return job;
  }
}
