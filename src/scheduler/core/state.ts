/** All that a leader keeps in memory. Everything here can be built again from the store. */
import { NewJobOptions } from './document/job-options.ts';
import { jobNo } from './ids.ts';
import type { Instant, JobId, JobNo, NodeId, ScheduleId, SessionId, TermId } from './ids.ts';
import { EventIndex } from './job/event-index.ts';
import type { EventWait } from './job/event-index.ts';
import type { ExecutionKey } from './job/execution-key.ts';
import type { Job } from './job/job.ts';
import { LiveJobs, UNPACKED_JOBS } from './live-jobs.ts';
import type { JobsById } from './live-jobs.ts';
import { isFinished } from './task/chart.ts';
import type { JobState } from './task/chart.ts';
import { PagedMap } from './memory/paged-map.ts';
import type { Node } from './node/node.ts';
import { Admissions } from './queue/admission.ts';
import { Matching } from './queue/matching.ts';
import type { Pause } from './queue/pause.ts';
import { ReadyQueue } from './queue/ready-queue.ts';
import type { Calendar } from './schedule/schedule.ts';
import type { DeclinedSchedule } from './schedule/declined.ts';
import type { Schedule } from './schedule/state.ts';
import type { Settings } from './settings.ts';
import type { EndListeners } from './steps/ends.ts';
import type { Lease } from './task/lease.ts';
import { TaskTable } from './task/table.ts';
import type { Slot } from './task/table.ts';
import { Timers } from './timers.ts';

export interface SchedulerOptions {
  readonly settings: Settings;
  readonly calendar: Calendar;
  /** The term under which fences are given. */
  readonly term: TermId;
  /** Who hears of the ends of jobs. */
  readonly ends?: EndListeners;
  /** Recounts the whole state before each commit: see `audit.ts`. For tests, because of what it costs. */
  readonly isAudited?: boolean;
  /** How many plain jobs stand in each lane before others are packed: for tests. */
  readonly unpackedJobs?: number;
}

export class SchedulerState {
  readonly settings: Settings;
  readonly calendar: Calendar;
  readonly term: TermId;
  readonly isAudited: boolean;
  readonly ends: EndListeners | null;
  /** The number of the last commit. */
  commitNo = 0;
  lastSeq = 0;
  nextJobNo: JobNo = jobNo(1);
  /** Live jobs by the idempotency key they were submitted with. */
  readonly jobsByKey: Map<string, Job> = new Map();
  /** The newest live job with each debounce key. */
  readonly debounced: Map<string, Job> = new Map();
  /** All with each debounce key that have been in memory, oldest first: one that has ended may have replaced an older one
   * that is yet to come. Null when every live job is in memory. */
  debouncedWhileLoading: Map<string, Job[]> | null = null;
  /** The live job of each singleton's key. One that it has replaced may still be ending. */
  readonly singletons: Map<string, Job> = new Map();
  /** The newest live job that has begun a batch, by `batchId`. */
  readonly batches: Map<string, Job> = new Map();
  /** Live jobs that a schedule has started, by time or by hand. */
  readonly jobsBySchedule: Map<ScheduleId, Set<Job>> = new Map();
  readonly tasks: TaskTable = new TaskTable();
  readonly jobs: LiveJobs;
  readonly jobsById: JobsById;
  /** The lease that the task's row names. */
  readonly leases: PagedMap<Slot, Lease> = new PagedMap();
  /** Second leases, of stragglers: see `steps/duplicates.ts`. No row tells of them. */
  readonly duplicates: Map<Slot, Lease> = new Map();
  /** Tasks that were found to take much longer than their siblings. Checked again before anything is done for them. */
  readonly stragglers: Set<Slot> = new Set();
  readonly keys: Map<string, ExecutionKey> = new Map();
  readonly nodes: Map<NodeId, Node> = new Map();
  /** Sessions that were replaced by a newer one of the same node: they may not come back. */
  readonly replacedSessions: Map<SessionId, NodeId> = new Map();
  readonly schedules: Map<ScheduleId, Schedule> = new Map();
  /** None of these is in `schedules`. */
  readonly declinedSchedules: Map<ScheduleId, DeclinedSchedule> = new Map();
  readonly matching: Matching = new Matching();
  readonly queue: ReadyQueue = new ReadyQueue(this.tasks, this.matching);
  /** Queues that are paused, by `pauseId`. */
  readonly pauses: Map<string, Pause> = new Map();
  /** Of the jobs that need admission: those that run and those that wait. */
  readonly admissions: Admissions = new Admissions();
  readonly newOptions: NewJobOptions = new NewJobOptions();
  /** Tasks that wait for a decision of the leader and for nothing else: see `Decide`. */
  readonly undecided: Set<Slot> = new Set();
  readonly timers: Timers = new Timers();
  /** Jobs that left the memory while rows are being loaded: an image of one of these may be older than its end and
   * must not bring it back. Null while nothing is loaded. */
  leftWhileReading: Set<JobNo> | null = null;
  /** How they ended, by id: what was read of a job before that is not true any more. */
  endedWhileReading: Map<JobId, JobState> | null = null;
  /** Execution keys that were settled meanwhile: what was read of these is not true any more. */
  keysWhileReading: Map<string, { readonly completed: boolean }> | null = null;
  /** Tasks that wait for the end of a job, by its id. The job may still be on its way into memory. */
  readonly callers: Map<JobId, Set<Slot>> = new Map();
  /** Tasks that wait for events. */
  readonly eventWaits: EventIndex<Slot, EventWait> = new EventIndex();
  /** Live jobs that events cancel. */
  readonly cancels: EventIndex<Job, Job> = new EventIndex();
  /** Jobs whose caller ended before they came into memory: they are stopped when they do. */
  readonly orphans: Set<JobId> = new Set();
  /** Every live job is in memory. Until then schedules keep still: they cannot tell whether their
   * last job still runs. Nor do debounced jobs start. */
  isComplete = true;
  /** Nodes whose parked poll gets its answer in the next assignment pass. */
  readonly answerable: Set<Node> = new Set();

  constructor(options: SchedulerOptions) {
    this.settings = options.settings;
    this.calendar = options.calendar;
    this.term = options.term;
    this.isAudited = options.isAudited ?? false;
    this.ends = options.ends ?? null;
    const { settings, unpackedJobs: given } = options;
    const unpacked = given === undefined ? UNPACKED_JOBS : { ofLane: given, inAll: given };
    this.jobs = new LiveJobs(this.tasks, settings, unpacked);
    this.jobsById = this.jobs.byId;
  }

  /** A job comes into memory. `executor` is that of its first task. */
  addJob(job: Job, executor: string): void {
    this.jobs.add(job);
    if (job.idempotencyKey !== null) this.jobsByKey.set(job.idempotencyKey, job);
    const { fairnessKey, debounce, batch, batchOf } = job.options;
    if (fairnessKey !== null) job.share = this.queue.shareFor(fairnessKey);
    if (debounce !== null && job.no > (this.debounced.get(debounce.key)?.no ?? 0)) {
      this.debounced.set(debounce.key, job);
    }
    if (debounce !== null) this.#noteDebounced(job, debounce.key);
    if (!isFinished(job.state)) this.claimSingleton(job);
    const { cancelOn } = job.options;
    if (cancelOn.length > 0)
      this.cancels.book(
        job,
        cancelOn.map((each) => ({ ...each, what: job })),
      );
    if (batch !== null) {
      job.batchId = batchId(batch.key, executor);
      const isNewest = job.no > (this.batches.get(job.batchId)?.no ?? 0);
      if (batchOf === null && isNewest) this.batches.set(job.batchId, job);
    }
    if (job.scheduleId === null) return;
    const siblings = this.jobsBySchedule.get(job.scheduleId) ?? new Set();
    this.jobsBySchedule.set(job.scheduleId, siblings.add(job));
  }

  /** It lives, or lives again. Of two the newer one has replaced the other. */
  claimSingleton(job: Job): void {
    const { singleton } = job.options;
    if (singleton === null) return;
    const known = this.singletons.get(singleton.key);
    if (known === undefined || known.no < job.no) this.singletons.set(singleton.key, job);
  }

  /** See `dropJob`, which also forgets its tasks. */
  removeJob({ no, id, idempotencyKey: key, scheduleId }: Job): void {
    const job = this.jobs.get(no);
    this.jobs.remove(no, id);
    if (job !== undefined && job.share !== null) this.queue.dropShare(job.share);
    const debounced = job?.options.debounce?.key ?? null;
    if (debounced !== null && this.debounced.get(debounced) === job)
      this.debounced.delete(debounced);
    const singleton = job?.options.singleton?.key ?? null;
    if (singleton !== null && this.singletons.get(singleton) === job)
      this.singletons.delete(singleton);
    if (job !== undefined && job.options.cancelOn.length > 0) this.cancels.book(job, []);
    const batch = job?.batchId ?? null;
    if (batch !== null && this.batches.get(batch) === job) this.batches.delete(batch);
    if (key !== null && this.jobsByKey.get(key) === job) this.jobsByKey.delete(key);
    if (scheduleId === null || job === undefined) return;
    const siblings = this.jobsBySchedule.get(scheduleId);
    siblings?.delete(job);
    if (siblings?.size === 0) this.jobsBySchedule.delete(scheduleId);
  }

  #noteDebounced(job: Job, key: string): void {
    const noted = this.debouncedWhileLoading?.get(key);
    if (noted === undefined) return void this.debouncedWhileLoading?.set(key, [job]);
    const before = noted.findLastIndex(({ no }) => no < job.no);
    // One that comes back, to run again, takes its own place.
    noted.splice(before + 1, noted[before + 1]?.no === job.no ? 1 : 0, job);
  }

  /** Loading of rows begins: note what ends from now on. */
  takeNotes(): void {
    this.leftWhileReading ??= new Set();
    this.endedWhileReading ??= new Map();
    this.keysWhileReading ??= new Map();
  }

  /** Nobody reads any more. */
  dropNotes(): void {
    this.leftWhileReading = null;
    this.endedWhileReading = null;
    this.keysWhileReading = null;
  }

  /** When a `tick` is due next. */
  nextWakeAt(): Instant | null {
    return this.timers.nextAt();
  }
}

/** Names the batches of a key and an executor: what one executor runs, another cannot. */
export function batchId(key: string, executor: string): string {
  return `${executor}/${key}`;
}
