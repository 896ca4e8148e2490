/** A job comes into being: all of it in one transaction, or none. */
import type { JobDocument, TaskDocument } from '../document/document.ts';
import { encodeOptions } from '../document/options.ts';
import type { Reject, Seed, Submit } from '../event.ts';
import { later, jobNo, taskNo } from '../ids.ts';
import type { JobId, ScheduleId, TaskNo } from '../ids.ts';
import { Edges, encodeDependencies } from '../job/edges.ts';
import { Job, jobRow } from '../job/job.ts';
import { keyScope } from '../job/execution-key.ts';
import { JobOutputs } from '../job/outputs.ts';
import type { JobRow, TaskSpecRow } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import { taskRow } from '../turn.ts';
import type { Turn } from '../turn.ts';
import { UNKNOWN_KEY, nameKey } from './keys.ts';
import type { KeyInStore } from './keys.ts';
import { logKind, makeReady } from './lifecycle.ts';

export function submit(turn: Turn, event: Submit): void {
  const { state } = turn;
  const { document, ask } = event;
  if (event.inboxNo !== undefined) turn.effects.deleteInbox(event.inboxNo);
  const existing =
    state.jobsById.get(event.jobId) ??
    (document.idempotencyKey === null ? undefined : state.jobsByKey.get(document.idempotencyKey));
  if (existing !== undefined) return turn.replyJob(ask, existing, false);
  const job = createJob(turn, event.jobId, document, event);
  turn.replyJob(ask, job, true);
}

/** Where a job comes from, beyond its document. */
export interface Origin extends Pick<Submit, 'seeds' | 'completedKeys' | 'pendingKeys'> {
  readonly scheduleId?: ScheduleId;
}

export function createJob(turn: Turn, id: JobId, document: JobDocument, origin: Origin): Job {
  const { state } = turn;
  const job = new Job(newRow(turn, id, document, origin.scheduleId ?? null));
  state.addJob(job);
  if (document.tasks.some((task) => task.dependsOn.length > 0)) {
    job.edges = new Edges(document.tasks.map((task) => task.dependsOn));
  }
  for (const task of document.tasks) addTask(state, job, task, keyInStore(task, origin));
  job.trim();
  for (const slot of job.slots) state.tasks.opened(slot);
  turn.effects.insertJob(jobRow(job));
  turn.log('job.created', { job });
  for (const [no, task] of document.tasks.entries()) {
    insertTask(turn, job.slots[no] as Slot, task);
  }
  for (const [no, seed] of origin.seeds ?? []) plant(turn, job, no, seed);
  for (const [no, task] of document.tasks.entries()) {
    const slot = job.slots[no] as Slot;
    if (task.dependsOn.length === 0 && state.tasks.state(slot) === 'blocked') makeReady(turn, slot);
  }
  armTotals(turn, job);
  return job;
}

function newRow(
  turn: Turn,
  id: JobId,
  document: JobDocument,
  scheduleId: ScheduleId | null,
): JobRow {
  const no = turn.state.nextJobNo;
  turn.state.nextJobNo = jobNo(no + 1);
  const { name, priority, idempotencyKey, maxParallel, onFailure, totalMs, output } = document;
  return {
    no,
    id,
    name,
    priority,
    idempotencyKey,
    maxParallel,
    onFailure,
    totalMs,
    scheduleId,
    output,
    createdAt: turn.now,
    state: 'queued',
    run: 1,
    taskCount: document.tasks.length,
    stopping: null,
    error: null,
    startedAt: null,
    finishedAt: null,
  };
}

/** What the submitter found out about the task's execution key. */
export function keyInStore(
  { executor, idempotencyKey }: TaskDocument,
  { completedKeys, pendingKeys }: Pick<Submit, 'completedKeys' | 'pendingKeys'>,
): KeyInStore {
  if (idempotencyKey === null) return UNKNOWN_KEY;
  const scope = keyScope(executor, idempotencyKey);
  return {
    completed: completedKeys?.has(scope) ?? false,
    owner: pendingKeys?.get(scope) ?? null,
  };
}

/** Into memory only; the task is blocked with all its dependencies unmet, and not yet counted as
 * open: that is done when its parent is sure to be there. */
export function addTask(
  state: SchedulerState,
  job: Job,
  task: TaskDocument,
  keyInStore: KeyInStore = UNKNOWN_KEY,
): Slot {
  const { concurrency, placement } = task.options;
  const slot = state.tasks.add({
    job,
    no: taskNo(job.slots.length),
    id: task.id,
    priority: task.priority,
    parent: task.parent,
    isAwaited: task.parent !== null && task.dependsOn.length === 0,
    isAdded: task.isAdded ?? false,
    requirement: state.matching.require(task.executor, placement),
    options: task.options,
    limit: concurrency === null ? null : state.queue.limitFor(concurrency, job.no),
    key:
      task.idempotencyKey === null
        ? null
        : nameKey(state, task.executor, task.idempotencyKey, keyInStore),
  });
  if (task.options.output !== undefined) job.outputs ??= new JobOutputs(job);
  state.tasks.unmet.set(slot, task.dependsOn.length);
  job.slots.push(slot);
  return slot;
}

/** The rows of a task that was just added. */
export function insertTask(turn: Turn, slot: Slot, task: TaskDocument): void {
  const { tasks, settings } = turn.state;
  const spec: TaskSpecRow = {
    jobNo: tasks.job(slot).no,
    taskNo: tasks.no(slot),
    id: task.id,
    executor: task.executor,
    priority: task.priority,
    parentNo: task.parent,
    dependsOn: encodeDependencies(task.dependsOn),
    idempotencyKey: task.idempotencyKey,
    options: encodeOptions(task.options, settings, task.isAdded),
    input: task.input,
  };
  tasks.setSince(slot, turn.now);
  turn.effects.insertTask(spec, taskRow(turn.state, slot, null, null));
  turn.log('created', { slot });
}

/** A task of a fork starts its life ended, with the result it had in the other job. One that is done when
 * the job is let in has its result already, and waits. */
function plant(turn: Turn, job: Job, no: TaskNo, seed: Seed): void {
  const { tasks } = turn.state;
  const slot = job.slot(no);
  if (slot === null) return;
  const run = tasks.run.get(slot);
  if (seed.result !== null) {
    turn.effects.result({ jobNo: job.no, taskNo: no, run, body: seed.result });
  }
  if (tasks.options(slot).admission !== undefined) return;
  tasks.restoreState(slot, seed.state);
  turn.writeTask(slot, turn.now);
  turn.log(logKind(seed.state), { slot }, { fromFork: true });
  turn.ended.push(slot);
}

/** Timeouts that span all attempts. */
export function armTotals(turn: Turn, job: Job): void {
  const { timers } = turn.state;
  if (job.totalMs !== null) {
    timers.arm({
      type: 'jobTimeout',
      at: later(job.runSince, job.totalMs),
      jobNo: job.no,
      run: job.run,
    });
  }
  for (const slot of job.slots) armTaskTotal(turn, slot);
}

export function armTaskTotal(turn: Turn, slot: Slot): void {
  const { timers, tasks } = turn.state;
  const { totalMs } = tasks.options(slot).timeouts;
  if (totalMs === null) return;
  const job = tasks.job(slot);
  timers.arm({
    type: 'taskTimeout',
    at: later(tasks.since(slot), totalMs),
    jobNo: job.no,
    taskNo: tasks.no(slot),
    run: tasks.run.get(slot),
  });
}

/** A document from the inbox that is not valid: stored as a failed job without tasks. */
export function reject(turn: Turn, event: Reject): void {
  turn.effects.deleteInbox(event.inboxNo);
  turn.replyJob(event.ask, createFailed(turn, event), true);
}

/** A job without tasks that has failed before it began: so that somebody can see why. */
export function createFailed(turn: Turn, about: Pick<Reject, 'jobId' | 'name' | 'error'>): Job {
  const no = turn.state.nextJobNo;
  turn.state.nextJobNo = jobNo(no + 1);
  const job = new Job({
    no,
    id: about.jobId,
    name: about.name,
    priority: 2,
    idempotencyKey: null,
    maxParallel: null,
    onFailure: 'finish',
    totalMs: null,
    scheduleId: null,
    output: null,
    createdAt: turn.now,
    state: 'failed',
    run: 1,
    taskCount: 0,
    stopping: null,
    error: about.error,
    startedAt: null,
    finishedAt: turn.now,
  });
  turn.effects.insertJob(jobRow(job));
  turn.log('job.created', { job });
  turn.log('job.failed', { job }, { ...about.error });
  return job;
}
