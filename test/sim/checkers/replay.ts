/**
 * The log replayed: which leases there were and how each ended, how each run of a task ended,
 * and the state in which the log leaves every task. Knows nothing of the rows but what was planted
 * by a fork, and nothing of the core.
 */
import type {
  Batch,
  EventRow,
  Instant,
  JobNo,
  LogKind,
  TaskNo,
  TaskRow,
  TaskState,
} from '../../../src/scheduler/core/index.ts';
import { refKey } from '../../../src/scheduler/store/index.ts';

export interface LoggedLease {
  readonly key: string;
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  readonly run: number;
  readonly fence: number;
  readonly nodeId: string;
  readonly from: number;
  readonly at: Instant;
  /** It goes on after a wait. */
  readonly isResumed: boolean;
  /** It was given beside another one of the same task. */
  readonly isDuplicate: boolean;
  /** The sequence number of the event that ended it. */
  to: number | null;
}

export interface LoggedEnd {
  readonly key: string;
  readonly run: number;
  readonly state: TaskState;
  readonly event: EventRow;
}

export interface LoggedTask {
  readonly key: string;
  readonly jobNo: JobNo;
  readonly taskNo: TaskNo;
  state: TaskState;
  run: number;
  fence: number;
  /** The one that its row names. */
  lease: LoggedLease | null;
  /** A second one, on another node. */
  duplicate: LoggedLease | null;
  isSuspended: boolean;
}

export interface Replay {
  readonly tasks: ReadonlyMap<string, LoggedTask>;
  readonly leases: readonly LoggedLease[];
  readonly ends: readonly LoggedEnd[];
  /** Moments at which a task of a run became ready for the first time. */
  readonly readied: readonly { readonly event: EventRow; readonly states: StatesThen }[];
  /** Leases that were given while others of the task were open, other than one second one on another node. */
  readonly doubles: readonly EventRow[];
  /** Successes after a success of the same run. */
  readonly repeats: readonly EventRow[];
  /** Events that make no sense where they stand. */
  readonly oddities: readonly string[];
}

/** What one commit, or the whole log at once, tells. */
export interface CommittedBatch {
  readonly batch: Pick<Batch, 'events' | 'taskUpdates'>;
}

/** The states of the job's tasks at that moment, by number. */
type StatesThen = ReadonlyMap<number, TaskState>;

const AFTER: Readonly<Partial<Record<LogKind, TaskState>>> = {
  created: 'blocked',
  recomputed: 'blocked',
  held: 'blocked',
  queued: 'ready',
  assigned: 'running',
  completed: 'succeeded',
  failed: 'failed',
  dead: 'failed',
  cancelled: 'cancelled',
  skipped: 'skipped',
  retried: 'delayed',
};
const ENDS: ReadonlySet<TaskState> = new Set(['succeeded', 'failed', 'cancelled', 'skipped']);
const LETS_GO: ReadonlySet<LogKind> = new Set([
  'completed',
  'failed',
  'dead',
  'cancelled',
  'skipped',
  'retried',
  'reassigned',
  'released',
  'suspended',
  'discarded',
]);

class Teller {
  readonly tasks: Map<string, LoggedTask> = new Map();
  readonly byJob: Map<JobNo, LoggedTask[]> = new Map();
  readonly leases: LoggedLease[] = [];
  readonly ends: LoggedEnd[] = [];
  readonly readied: { event: EventRow; states: StatesThen }[] = [];
  readonly doubles: EventRow[] = [];
  readonly repeats: EventRow[] = [];
  readonly oddities: string[] = [];
  readonly #readyRuns: Set<string> = new Set();

  take(event: EventRow): void {
    if (event.jobNo === null || event.taskNo === null) return;
    const task = this.#task(event);
    if (event.kind === 'duplicated') return this.#duplicated(task, event);
    if (event.fence !== null && event.fence === task.duplicate?.fence) {
      if (event.kind === 'started') return;
      this.#close(task, 'duplicate', event);
      if (event.kind === 'discarded') return;
      // Whatever else it does, it does in the place of the first one.
      this.#odd(task, event, 'of its second lease');
    }
    if (event.kind === 'queued') this.#forget(task);
    if (event.kind === 'queued') this.#readied(task, event);
    if (LETS_GO.has(event.kind) && task.lease !== null) this.#close(task, 'lease', event);
    if (event.kind === 'assigned') this.#assigned(task, event);
    if (event.kind !== 'queued') task.isSuspended = event.kind === 'suspended';
    task.run = event.run ?? task.run;
    task.fence = event.fence ?? task.fence;
    const state = AFTER[event.kind];
    const isEnd = state !== undefined && ENDS.has(state);
    if (isEnd) this.#forget(task);
    if (LETS_GO.has(event.kind) && !isEnd && this.#promoted(task)) return;
    if (state !== undefined) this.#moved(task, state, event);
    else if (LETS_GO.has(event.kind)) task.state = 'delayed';
  }

  #odd({ key }: LoggedTask, { kind }: EventRow, how: string): void {
    this.oddities.push(`task ${key} is ${kind} ${how}`);
  }

  #close(task: LoggedTask, which: 'lease' | 'duplicate', { seq }: EventRow): void {
    const lease = task[which];
    if (lease !== null) lease.to = seq;
    task[which] = null;
  }

  /** A leader that loads its state knows of no second leases, and so nothing in the log ends them. When the task ends
   * or is queued again they are over, and for how long nobody can tell: limits do not count them. */
  #forget(task: LoggedTask): void {
    const left = task.duplicate ?? (task.lease?.isDuplicate === true ? task.lease : null);
    if (left === null) return;
    if (task.duplicate === null) task.lease = null;
    task.duplicate = null;
    this.leases.splice(this.leases.indexOf(left), 1);
  }

  /** The second lease becomes the first one when that ends and the task does not. */
  #promoted(task: LoggedTask): boolean {
    const { duplicate } = task;
    if (duplicate === null) return false;
    task.lease = duplicate;
    task.duplicate = null;
    task.fence = duplicate.fence;
    task.state = 'running';
    return true;
  }

  #duplicated(task: LoggedTask, event: EventRow): void {
    const isBeside = task.lease !== null && task.lease.nodeId !== event.nodeId;
    if (task.duplicate !== null || !isBeside) this.doubles.push(event);
    task.duplicate = this.#lease(task, event);
  }

  /** Whether a task that let go of its lease waits for a time or for others, only its row says. */
  endBatch({ jobNo, taskNo, state }: TaskRow): void {
    const task = this.tasks.get(refKey(jobNo, taskNo));
    // What was taken for a second lease in the place of the first was forgotten.
    if (task?.lease?.isDuplicate === true && state !== 'running') {
      this.#forget(task);
      task.state = state;
    }
    if (task?.state === 'delayed' && state === 'blocked') task.state = 'blocked';
    // Its job is to start later.
    if (task?.state === 'blocked' && state === 'delayed') task.state = 'delayed';
  }

  #task(event: EventRow): LoggedTask {
    const jobNo = event.jobNo as JobNo;
    const taskNo = event.taskNo as TaskNo;
    const key = refKey(jobNo, taskNo);
    const known = this.tasks.get(key);
    if (known !== undefined) return known;
    if (event.kind !== 'created') this.oddities.push(`task ${key} begins with ${event.kind}`);
    const task: LoggedTask = {
      key,
      jobNo,
      taskNo,
      state: 'blocked',
      run: 1,
      fence: 0,
      lease: null,
      duplicate: null,
      isSuspended: false,
    };
    this.tasks.set(key, task);
    this.byJob.set(jobNo, [...(this.byJob.get(jobNo) ?? []), task]);
    return task;
  }

  #readied(task: LoggedTask, event: EventRow): void {
    const run = `${task.key}/${event.run}`;
    if (this.#readyRuns.has(run)) return;
    this.#readyRuns.add(run);
    const states = (this.byJob.get(task.jobNo) ?? []).map(
      (each) => [each.taskNo, each.state] as const,
    );
    this.readied.push({ event, states: new Map(states) });
  }

  #assigned(task: LoggedTask, event: EventRow): void {
    if (task.lease !== null || task.duplicate !== null) this.doubles.push(event);
    if ((event.fence ?? 0) <= task.fence) {
      this.oddities.push(`task ${task.key} got fence ${event.fence} after ${task.fence}`);
    }
    if (task.state !== 'ready')
      this.oddities.push(`task ${task.key} was assigned while ${task.state}`);
    task.lease = this.#lease(task, event);
  }

  #lease(task: LoggedTask, event: EventRow): LoggedLease {
    const lease: LoggedLease = {
      key: task.key,
      jobNo: task.jobNo,
      taskNo: task.taskNo,
      run: event.run ?? 0,
      fence: event.fence ?? 0,
      nodeId: event.nodeId ?? '',
      from: event.seq,
      at: event.at,
      isResumed: task.isSuspended,
      isDuplicate: event.kind === 'duplicated',
      to: null,
    };
    this.leases.push(lease);
    return lease;
  }

  #moved(task: LoggedTask, state: TaskState, event: EventRow): void {
    const isNewRun = event.kind === 'created' || event.kind === 'recomputed';
    if (task.state === 'succeeded' && event.kind === 'completed') this.repeats.push(event);
    if (ENDS.has(task.state) && !isNewRun) {
      this.oddities.push(`task ${task.key} is ${event.kind} after it was ${task.state}`);
    }
    task.state = state;
    if (ENDS.has(state)) this.ends.push({ key: task.key, run: task.run, state, event });
  }
}

export function replay(commits: readonly CommittedBatch[]): Replay {
  const teller = new Teller();
  for (const { batch } of commits) {
    for (const event of batch.events) teller.take(event);
    for (const row of batch.taskUpdates) teller.endBatch(row);
  }
  const { tasks, leases, ends, readied, doubles, repeats, oddities } = teller;
  return { tasks, leases, ends, readied, doubles, repeats, oddities };
}
