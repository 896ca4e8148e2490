/** What a layer of commits has of one job. */
import type {
  Batch,
  JobNo,
  JobRow,
  PagedMap,
  ResultRow,
  SignalRow,
  StepRow,
  TaskRow,
  TaskSpecRow,
} from '../../core/index.ts';
import { PendingTasks } from './pending-tasks.ts';
import type { Fold } from './port.ts';

export interface PendingTask {
  /** Null when the tables have it. */
  spec: TaskSpecRow | null;
  row: TaskRow | null;
  /** Most tasks have one result at most, and no steps. */
  results: readonly ResultRow[];
  steps: Map<string, StepRow> | null;
  /** Something of it is only known to the tables: the body of a signal, the result of a key. */
  restsOnTables: boolean;
}

export interface PendingJob {
  /** Null when only something that hangs on it changed; what never changes may be unknown (`isWholeJob`), unless it is new. */
  row: JobRow | null;
  isNew: boolean;
  readonly tasks: PendingTasks;
  /** Ended runs; null when there are none. */
  history: TaskRow[] | null;
  /** A run has ended whose row only the tables have. */
  isArchived: boolean;
  /** The commit that brought it; 0 when it is not new. */
  readonly insertedIn: number;
  /** Until then folds leave it out while it goes on; null when none has. */
  deferredUntilMs: number | null;
}

export interface PendingSignal {
  /** Null when the tables have it. */
  readonly row: SignalRow | null;
  readonly isTaken: boolean;
}

/** `insertedIn`: 0 for a job that the tables have. */
export function newJob(row: JobRow | null, insertedIn: number): PendingJob {
  return {
    row,
    isNew: insertedIn > 0,
    tasks: new PendingTasks(),
    history: null,
    isArchived: false,
    insertedIn,
    deferredUntilMs: null,
  };
}

/** Of one task and with nothing that is not in its rows. */
export function isDeferrable(job: PendingJob): job is PendingJob & { readonly row: JobRow } {
  const { row, isNew, tasks, history, isArchived } = job;
  if (!isNew || row === null || row.finishedAt !== null || row.taskCount !== 1) return false;
  const { only } = tasks;
  if (row.run !== 1 || only === null || history !== null || isArchived) return false;
  const { spec, row: task, results, steps, restsOnTables } = only;
  if (spec === null || task === null || restsOnTables) return false;
  return results.length === 0 && steps === null;
}

export function signalKey(jobNo: JobNo, no: number): string {
  return `${jobNo}/${no}`;
}

export function stepKey({ jobNo, taskNo, run, name }: Omit<StepRow, 'body'>): string {
  return `${jobNo}/${taskNo}/${run}/${name}`;
}

type JobLists = Pick<Fold, 'history'> &
  Pick<
    Batch,
    | 'jobInserts'
    | 'jobUpdates'
    | 'specInserts'
    | 'taskInserts'
    | 'taskUpdates'
    | 'results'
    | 'steps'
  >;

/** Their rows by table, without those of the jobs that are left out. */
export function listsOf(
  jobs: Pick<PagedMap<JobNo, PendingJob>, 'forEach'>,
  leftOut: Pick<PagedMap<JobNo, true>, 'has'>,
): JobLists {
  const jobInserts: JobRow[] = [];
  const jobUpdates: JobRow[] = [];
  const specInserts: TaskSpecRow[] = [];
  const taskInserts: TaskRow[] = [];
  const taskUpdates: TaskRow[] = [];
  const results: ResultRow[] = [];
  const steps: StepRow[] = [];
  const ended: TaskRow[] = [];
  const addTask = (task: PendingTask): void => {
    if (task.spec !== null) specInserts.push(task.spec);
    if (task.row !== null) (task.spec === null ? taskUpdates : taskInserts).push(task.row);
    for (const result of task.results) results.push(result);
    if (task.steps !== null) steps.push(...task.steps.values());
  };
  // Without a pair for each of thousands.
  jobs.forEach(({ row, isNew, tasks, history }, no) => {
    if (leftOut.has(no)) return;
    if (row !== null) (isNew ? jobInserts : jobUpdates).push(row);
    if (history !== null) ended.push(...history);
    tasks.forEach(addTask);
  });
  const rows = { jobInserts, jobUpdates, specInserts, taskInserts, taskUpdates };
  return { ...rows, results, steps, history: ended };
}
