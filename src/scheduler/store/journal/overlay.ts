/**
 * What commits that are not in the tables yet change in an answer of the tables. The layers come newest first. While an
 * answer is read the tables may take in the oldest ones, so laying a layer over an answer that has it already changes
 * nothing; where that cannot be, the answer is `AFTER_FOLD`.
 */
import type {
  EventRow,
  JobId,
  JobNo,
  JobRow,
  KeyRow,
  NodeId,
  ResultRow,
  StepRow,
  TaskNo,
  TaskRef,
  TaskRow,
} from '../../core/index.ts';
import type { EventView, Holds, JobView, NodeView, TaskView } from '../store.ts';
import { isWholeJob, updatedJob } from './job-change.ts';
import type { PendingJob, PendingTask } from './pending-job.ts';
import type { Pending } from './pending.ts';

export type Layers = readonly Pending[];

/** What is known here of one thing: its value, or that the tables have to be asked, now or after a fold. */
export type Known<T> =
  | { readonly value: T }
  | { readonly ask: 'tables' }
  | { readonly ask: 'tables after a fold' };

const IN_TABLES = { ask: 'tables' } as const;
const AFTER_FOLD = { ask: 'tables after a fold' } as const;

function firstOf<T>(layers: Layers, find: (layer: Pending) => T | undefined): T | undefined {
  for (const layer of layers) {
    const found = find(layer);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function jobIdForKey(layers: Layers, key: string): Known<JobId> {
  const id = firstOf(layers, (layer) => layer.jobIdForKey(key));
  return id === undefined ? IN_TABLES : { value: id };
}

export function keyRow(layers: Layers, scope: string): Known<KeyRow | null> {
  const row = firstOf(layers, (layer) => layer.key(scope));
  return row === undefined ? IN_TABLES : { value: row };
}

export function input(layers: Layers, ref: TaskRef): Known<string | null> {
  const spec = firstOf(layers, (layer) => layer.task(ref)?.spec ?? undefined);
  return spec === undefined ? IN_TABLES : { value: spec.input };
}

export function taskRow(layers: Layers, ref: TaskRef): Known<TaskRow> {
  const row = firstOf(layers, (layer) => layer.task(ref)?.row ?? undefined);
  return row === undefined ? IN_TABLES : { value: row };
}

/** Of the current run. */
export function result(layers: Layers, ref: TaskRef): Known<string | null> {
  const tasks = layers.flatMap((layer) => layer.task(ref) ?? []);
  const run = tasks.find(({ row }) => row !== null)?.row?.run;
  // A result that has come without a row of its task: the tables know the run.
  const isUnknown = (task: PendingTask): boolean => isUnsure(task) || task.results.length > 0;
  if (run === undefined) return tasks.some(isUnknown) ? AFTER_FOLD : IN_TABLES;
  const body = bodyOf(
    tasks.flatMap(({ results }) => results),
    run,
  );
  if (body !== null) return { value: body };
  const isWhole = tasks.some(({ spec }) => spec !== null) && !tasks.some(isUnsure);
  return isWhole ? { value: null } : AFTER_FOLD;
}

const isUnsure = ({ restsOnTables }: PendingTask): boolean => restsOnTables;

export async function stepsOf(
  layers: Layers,
  ref: TaskRef,
  run: number,
  read: () => Promise<readonly StepRow[]>,
): Promise<readonly StepRow[] | typeof AFTER_FOLD> {
  const tasks = layers.flatMap((layer) => layer.task(ref) ?? []);
  if (tasks.some(isUnsure)) return AFTER_FOLD;
  const stored = tasks.some(({ spec }) => spec !== null) ? [] : await read();
  const steps = new Map(stored.map((row) => [row.name, row]));
  for (const task of tasks.toReversed()) {
    for (const row of task.steps?.values() ?? []) {
      if (row.run === run && !steps.has(row.name)) steps.set(row.name, row);
    }
  }
  return [...steps.values()];
}

/** Whether the layers have the job from its beginning, and nothing of it rests on the tables. */
export function isWhole(layers: Layers, id: JobId): boolean {
  const no = firstOf(layers, (layer) => layer.jobNoOf(id));
  const jobs = no === undefined ? [] : layers.flatMap((layer) => layer.job(no) ?? []);
  return jobs.some(({ isNew }) => isNew) && jobs.every(isSure);
}

function isSure(job: PendingJob): boolean {
  return !job.isArchived && ![...job.tasks.values()].some(isUnsure);
}

export function isTaken(layers: Layers, id: JobId): boolean {
  return layers.some((layer) => layer.jobNoOf(id) !== undefined);
}

export async function jobRow(
  layers: Layers,
  id: JobId,
  read: () => Promise<JobRow | null>,
): Promise<JobRow | null> {
  const known = firstOf(layers, (layer) => layer.jobNoOf(id));
  const isNew = known !== undefined && layers.some((layer) => layer.job(known)?.isNew === true);
  const stored = isNew ? null : await read();
  // An update that was read from the journal says whose it is by the number alone.
  const no = stored?.no ?? known;
  if (no === undefined) return null;
  return rowOver(stored, layers.flatMap((layer) => layer.job(no) ?? []).toReversed());
}

function rowOver(stored: JobRow | null, jobs: readonly PendingJob[]): JobRow | null {
  let job = stored;
  for (const { row } of jobs) if (row !== null) job = job === null ? row : updatedJob(job, row);
  return job;
}

export async function jobView(
  layers: Layers,
  id: JobId,
  read: () => Promise<JobView | null>,
): Promise<JobView | null | typeof AFTER_FOLD> {
  const isNew = layers.some((layer) => {
    const no = layer.jobNoOf(id);
    return no !== undefined && layer.job(no)?.isNew === true;
  });
  const stored = isNew ? null : await read();
  const no = stored?.job.no ?? firstOf(layers, (layer) => layer.jobNoOf(id));
  if (no === undefined) return null;
  const jobs = layers.flatMap((layer) => layer.job(no) ?? []).toReversed();
  if (!jobs.every(isSure)) return AFTER_FOLD;
  const job = rowOver(stored?.job ?? null, jobs);
  return job === null ? null : viewOver(job, stored, jobs);
}

function viewOver(job: JobRow, stored: JobView | null, jobs: readonly PendingJob[]): JobView {
  const tasks = new Map<TaskNo, TaskView>();
  const history = new Map<string, TaskRow>();
  const archive = (row: TaskRow): void => void history.set(`${row.taskNo}/${row.run}`, row);
  for (const view of stored?.tasks ?? []) tasks.set(view.task.taskNo, view);
  for (const row of stored?.history ?? []) archive(row);
  for (const each of jobs) {
    for (const row of each.history ?? []) archive(row);
    each.tasks.forEach((task, no) => {
      const view = taskOver(tasks.get(no), task);
      if (view !== null) tasks.set(no, view);
    });
  }
  return {
    job,
    tasks: [...tasks.values()].toSorted((a, b) => a.task.taskNo - b.task.taskNo),
    history: [...history.values()].toSorted((a, b) => a.run - b.run || a.taskNo - b.taskNo),
  };
}

function taskOver(stored: TaskView | undefined, pending: PendingTask): TaskView | null {
  const spec = stored?.spec ?? pending.spec;
  const task = pending.row ?? stored?.task ?? null;
  if (spec === null || task === null) return stored ?? null;
  const before = stored?.task.run === task.run ? stored.result : null;
  return { spec, task, result: bodyOf(pending.results, task.run) ?? before };
}

function bodyOf(results: readonly ResultRow[], run: number): string | null {
  return results.find((row) => row.run === run)?.body ?? null;
}

/** Events after the last one of the tables, if the layers know the names of all that they are about. */
export function events(
  layers: Layers,
  after: number,
  limit: number,
  jobId?: JobId,
): readonly EventView[] | null {
  const all = layers.toReversed();
  const [first] = all.flatMap((layer) => layer.events.firstSeq ?? []);
  if (first === undefined || after + 1 < first) return null;
  const jobNo = jobId === undefined ? null : firstOf(layers, (layer) => layer.jobNoOf(jobId));
  if (jobNo === undefined) return null;
  const found: EventView[] = [];
  for (const layer of all) {
    for (const event of layer.events.after(after, jobNo)) {
      if (found.length === limit) return found;
      const named = nameOf(layers, event);
      if (named === null) return null;
      found.push(named);
    }
  }
  return found;
}

function nameOf(layers: Layers, event: EventRow): EventView | null {
  const { jobNo, taskNo } = event;
  if (jobNo === null) return { ...event, jobId: null, taskId: null };
  const jobId = idOf(layers, jobNo);
  if (jobId === null) return null;
  if (taskNo === null) return { ...event, jobId, taskId: null };
  const spec = firstOf(layers, (layer) => layer.task({ jobNo, taskNo })?.spec ?? undefined);
  return spec === undefined ? null : { ...event, jobId, taskId: spec.id };
}

function idOf(layers: Layers, no: JobNo): JobId | null {
  const row = firstOf(layers, (layer) => {
    const found = layer.job(no)?.row;
    return found && isWholeJob(found) ? found : undefined;
  });
  return row?.id ?? null;
}

/** By id. */
export function nodeViews(
  layers: Layers,
  stored: readonly NodeView[],
  holds: Holds,
): readonly NodeView[] {
  const nodes = new Map<NodeId, NodeView>();
  for (const node of stored) nodes.set(node.id, { ...node, running: holds(node.id) });
  for (const layer of layers.toReversed()) {
    for (const [id, row] of layer.nodes) {
      if (row === null) nodes.delete(id);
      else nodes.set(id, { ...row, running: holds(id) });
    }
  }
  return [...nodes.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
