/** A job as it is being followed: a look at it now and then, and the events in between. */
import type { DatedJob } from '../../client/index.ts';
import {
  isTerminal,
  type JobState,
  type TaskId,
  type TaskState,
} from '../../scheduler/core/index.ts';
import type { EventShape, TaskShape } from '../../scheduler/contract/index.ts';
import { errorWords } from '../wording.ts';
import { graphOrder } from './graph-order.ts';

export interface TaskProgress {
  readonly id: TaskId;
  readonly state: TaskState;
  /** How deep it stands below a task that added it. */
  readonly depth: number;
  readonly attempt: number;
  readonly node: string | null;
  readonly progress: number;
  readonly note: string | null;
  readonly error: string | null;
  readonly waiting: string | null;
  readonly startedMs: number | null;
  readonly finishedMs: number | null;
}

export interface JobPicture {
  readonly name: string;
  readonly state: JobState;
  readonly createdMs: number;
  readonly finishedMs: number | null;
  /** In the order of the graph, children behind the task that added them. */
  readonly tasks: readonly TaskProgress[];
}

const STATES: Readonly<Partial<Record<EventShape['kind'], TaskState>>> = {
  queued: 'ready',
  assigned: 'running',
  started: 'running',
  progress: 'running',
  completed: 'succeeded',
  failed: 'failed',
  retried: 'delayed',
  reassigned: 'ready',
  released: 'ready',
  cancelled: 'cancelled',
  skipped: 'skipped',
  dead: 'failed',
  suspended: 'blocked',
  held: 'blocked',
  recomputed: 'blocked',
};

const ENDS: Readonly<Partial<Record<EventShape['kind'], JobState>>> = {
  'job.started': 'running',
  'job.succeeded': 'succeeded',
  'job.failed': 'failed',
  'job.cancelled': 'cancelled',
};

/** Times are by the server's clock. */
export class JobProgress {
  readonly #tasks: Map<string, TaskProgress> = new Map();
  #job: Omit<JobPicture, 'tasks'>;
  #seq = 0;
  #isStale = false;

  constructor(job: DatedJob) {
    this.#job = headOf(job);
    this.look(job);
  }

  get picture(): JobPicture {
    return { ...this.#job, tasks: [...this.#tasks.values()] };
  }

  /** Something has happened that only a new read can show, or a task waits and the reason may be known. */
  get wantsLook(): boolean {
    if (this.#isStale) return true;
    return [...this.#tasks.values()].some(({ state }) => WAITING.has(state));
  }

  look(job: DatedJob): void {
    // An answer that was under way while newer events came would turn time back.
    if (job.asOf.seq < this.#seq) return;
    this.#seq = job.asOf.seq;
    this.#isStale = false;
    this.#job = headOf(job);
    const before = new Map(this.#tasks);
    this.#tasks.clear();
    for (const { task, depth } of graphOrder(job.tasks)) {
      this.#tasks.set(task.id, progressOf(task, depth, before.get(task.id)?.note ?? null));
    }
  }

  /** False when it is known already. */
  take(event: EventShape): boolean {
    if (event.seq <= this.#seq) return false;
    this.#seq = event.seq;
    const atMs = Date.parse(event.at);
    const state = ENDS[event.kind];
    if (state !== undefined) {
      const isOver = state !== 'running';
      this.#job = { ...this.#job, state, finishedMs: isOver ? atMs : null };
    }
    if (event.kind === 'job.rerun') this.#isStale = true;
    if (event.task !== null) this.#takeTask(event, event.task, atMs);
    return true;
  }

  #takeTask(event: EventShape, id: TaskId, atMs: number): void {
    const task = this.#tasks.get(id);
    const state = STATES[event.kind];
    // A task that was added, and what a suspended one waits for, are known to the server only.
    if (task === undefined || event.kind === 'suspended') this.#isStale = true;
    if (task === undefined || state === undefined) return;
    const isNew = event.kind === 'assigned' || event.kind === 'queued';
    const isOver = isTerminal(state);
    this.#tasks.set(id, {
      ...task,
      state,
      attempt: event.attempt ?? task.attempt,
      node: state === 'running' || isOver ? (event.node ?? task.node) : null,
      waiting: null,
      ...(isNew ? { progress: 0, note: null, error: null } : {}),
      ...(event.kind === 'started' || event.kind === 'assigned' ? { startedMs: atMs } : {}),
      ...(isOver ? { finishedMs: atMs } : {}),
      ...detailsOf(event),
    });
  }
}

const WAITING: ReadonlySet<TaskState> = new Set(['ready', 'delayed', 'blocked']);

function detailsOf({ kind, detail }: EventShape): Partial<TaskProgress> {
  const { fraction, note, code, message } = (detail ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'progress') {
    return {
      ...(typeof fraction === 'number' ? { progress: fraction } : {}),
      ...(typeof note === 'string' ? { note } : {}),
    };
  }
  if (typeof code !== 'string' || typeof message !== 'string') return {};
  return { error: errorWords({ code, message }) };
}

function headOf(job: DatedJob): Omit<JobPicture, 'tasks'> {
  const { name, state, createdAt, finishedAt } = job;
  return { name, state, createdMs: Date.parse(createdAt), finishedMs: millis(finishedAt) };
}

function progressOf(task: TaskShape, depth: number, note: string | null): TaskProgress {
  const { id, state, attempt, node, progress, waiting, startedAt, finishedAt, error } = task;
  return {
    ...{ id, state, depth, attempt, node, progress, waiting },
    note: state === 'running' ? note : null,
    error: errorWords(error),
    startedMs: millis(startedAt),
    finishedMs: millis(finishedAt),
  };
}

function millis(at: string | null): number | null {
  return at === null ? null : Date.parse(at);
}
