/**
 * What a batch must keep within itself where no index of a database looks after it: numbers and names that are unique,
 * tasks that come with their specs.
 */
import {
  type Batch,
  type JobNo,
  type TaskId,
  taskOrder,
  type TaskRef,
  type TaskSpecRow,
} from '../core/index.ts';
import { badRow } from './row-checks.ts';

const key = (...parts: readonly (number | string)[]): string => parts.join('/');

export function checkUnique(batch: Batch): void {
  const { jobInserts, specInserts, taskInserts, archived, signalInserts } = batch;
  unique('job number', jobInserts, ({ no }) => no);
  unique('job id', jobInserts, ({ id }) => id);
  unique(
    'idempotency key',
    jobInserts.filter((job) => job.idempotencyKey !== null),
    (job) => job.idempotencyKey ?? '',
  );
  const ref = ({ jobNo, taskNo }: TaskRef): number => taskOrder(jobNo, taskNo);
  // One task each, as most jobs have: their ids cannot be the same.
  if (!isRising(specInserts, ({ jobNo }) => jobNo)) {
    checkTaskIds(specInserts);
  }
  checkPairs(specInserts, taskInserts, ref);
  unique('signal', signalInserts, (signal) => key(signal.jobNo, signal.no));
  unique('signal id', signalInserts, (signal) => key(signal.jobNo, signal.id));
  unique('archived task', archived, ref);
  const { results, copiedResults } = batch;
  checkResults(copiedResults.length === 0 ? results : [...results, ...copiedResults], ref);
}

/** Job by job, as they come: a text for each task of a large job would cost more than all other checks. */
function checkTaskIds(specs: Batch['specInserts']): void {
  if (isCounted(specs)) return;
  const ofJobs = new Map<JobNo, Set<TaskId>>();
  let [last, ids] = [specs[0]?.jobNo, new Set<TaskId>()];
  if (last !== undefined) ofJobs.set(last, ids);
  for (const { jobNo, id } of specs) {
    if (jobNo !== last) {
      ids = ofJobs.get(jobNo) ?? new Set();
      ofJobs.set(jobNo, ids);
      last = jobNo;
    }
    if (ids.has(id)) throw badRow(`task id ${key(jobNo, id)}`, 'it came twice');
    ids.add(id);
  }
}

/** Whether the ids of each job rise as counted ones do, shorter ones first: then none is there twice, and no set is made. */
function isCounted(specs: Batch['specInserts']): boolean {
  let before = specs[0];
  for (let at = 1; at < specs.length; at += 1) {
    const spec = specs[at] as TaskSpecRow;
    if (before === undefined || spec.jobNo < before.jobNo) return false;
    if (spec.jobNo === before.jobNo) {
      const longer = spec.id.length - before.id.length;
      if (longer < 0 || (longer === 0 && !(before.id < spec.id))) return false;
    }
    before = spec;
  }
  return true;
}

/** Each task comes with its spec, and once. */
function checkPairs(
  specs: readonly TaskRef[],
  tasks: readonly TaskRef[],
  ref: (row: TaskRef) => number,
): void {
  unique('task', specs, ref);
  // Nearly always in the same order, and so as unique as those.
  if (arePaired(specs, tasks)) return;
  unique('task', tasks, ref);
  const known = new Set(specs.map(ref));
  for (const task of tasks) {
    if (!known.has(ref(task)))
      throw badRow(`task ${key(task.jobNo, task.taskNo)}`, 'it has no spec');
  }
}

function arePaired(specs: readonly TaskRef[], tasks: readonly TaskRef[]): boolean {
  if (tasks.length > specs.length) return false;
  for (let at = 0; at < tasks.length; at += 1) {
    const [task, spec] = [tasks[at] as TaskRef, specs[at] as TaskRef];
    if (task.jobNo !== spec.jobNo || task.taskNo !== spec.taskNo) return false;
  }
  return true;
}

/** A task has one in each of its runs. */
function checkResults(
  rows: readonly (TaskRef & { readonly run: number })[],
  ref: (row: TaskRef) => number,
): void {
  if (isRising(rows, ref) || new Set(rows.map(ref)).size === rows.length) return;
  unique('result', rows, (row) => key(row.jobNo, row.taskNo, row.run));
}

function unique<Row>(
  what: string,
  rows: readonly Row[],
  keyOf: (row: Row) => number | string,
): void {
  if (isRising(rows, keyOf)) return;
  const seen = new Set<number | string>();
  for (const row of rows) {
    const name = keyOf(row);
    if (seen.has(name)) throw badRow(`${what} ${name}`, 'it came twice');
    seen.add(name);
  }
}

/** Each is above the one before, so none is there twice. Rows mostly come in this order, which costs no set. */
function isRising<Row>(rows: readonly Row[], keyOf: (row: Row) => number | string): boolean {
  if (rows.length < 2) return true;
  let before = keyOf(rows[0] as Row);
  for (let at = 1; at < rows.length; at += 1) {
    const after = keyOf(rows[at] as Row);
    // Text is not compared with numbers, and what is not a number is above nothing.
    if (typeof before !== typeof after || !(before < after)) return false;
    before = after;
  }
  return true;
}
