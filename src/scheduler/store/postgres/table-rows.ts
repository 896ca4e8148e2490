/**
 * Which rows a fold writes. Most jobs have one task, one run and little to carry: their task goes into the row of the job, in
 * place of three rows more (migration 0024). Tasks that are in such a row already, and get company or a second run, leave it.
 */
import {
  type Batch,
  type JobNo,
  type JobRow,
  PagedMap,
  type ResultRow,
  type TaskRef,
  type TaskRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';

/** A job, perhaps with its only task. */
export interface FoldedJob {
  readonly job: JobRow;
  /** Null in an update, or when the task goes into the tables of tasks. */
  readonly spec: TaskSpecRow | null;
  readonly task: TaskRow | null;
  readonly result: string | null;
}

type Separate = Pick<Batch, 'specInserts' | 'taskInserts' | 'taskUpdates' | 'results'>;

export interface TableRows extends Separate {
  /** Jobs whose task leaves their row, if it is there. */
  readonly spread: readonly JobNo[];
  readonly jobInserts: readonly FoldedJob[];
  readonly jobUpdates: readonly FoldedJob[];
}

/** Longer texts are written once, apart from the row that changes. */
const TEXT_MAX = 1_000;

interface Draft {
  readonly job: JobRow;
  readonly isNew: boolean;
  spec: TaskSpecRow | null;
  task: TaskRow | null;
  result: string | null;
  isFit: boolean;
}

export function tableRows({ batch, history }: Pick<Fold, 'batch' | 'history'>): TableRows {
  const drafts = draftsOf(batch);
  const unfit = ({ jobNo }: TaskRef): void => {
    const draft = drafts.get(jobNo);
    if (draft !== undefined) draft.isFit = false;
  };
  for (const spec of batch.specInserts) takeSpec(drafts.get(spec.jobNo), spec);
  for (const task of batch.taskInserts) takeTask(drafts.get(task.jobNo), task);
  for (const task of batch.taskUpdates) takeTask(drafts.get(task.jobNo), task);
  for (const ref of [...history, ...batch.archived]) unfit(ref);
  const isInRow = ({ jobNo }: TaskRef): boolean => isWhole(drafts.get(jobNo));
  const isApart = (ref: TaskRef): boolean => !isInRow(ref);
  const results = batch.results.filter((result) => !takeResult(drafts.get(result.jobNo), result));
  const folded = (job: JobRow): FoldedJob => {
    const draft = drafts.get(job.no);
    return isWhole(draft) ? draft : { job, spec: null, task: null, result: null };
  };
  return {
    spread: spreadIn(batch, history, drafts),
    jobInserts: batch.jobInserts.map(folded),
    jobUpdates: batch.jobUpdates.map(folded),
    specInserts: batch.specInserts.filter(isApart),
    taskInserts: batch.taskInserts.filter(isApart),
    taskUpdates: batch.taskUpdates.filter(isApart),
    results,
  };
}

/** Of jobs that may have their task in their row, as far as the job shows. */
function draftsOf({ jobInserts, jobUpdates }: Batch): PagedMap<JobNo, Draft> {
  const drafts = new PagedMap<JobNo, Draft>();
  const add = (job: JobRow, isNew: boolean): void => {
    if (job.taskCount !== 1 || job.run !== 1) return;
    drafts.set(job.no, { job, isNew, spec: null, task: null, result: null, isFit: true });
  };
  for (const job of jobInserts) add(job, true);
  for (const job of jobUpdates) add(job, false);
  return drafts;
}

const lengthOf = (...texts: readonly (string | null)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

function takeSpec(draft: Draft | undefined, spec: TaskSpecRow): void {
  if (draft === undefined) return;
  const { taskNo, parentNo, dependsOn, idempotencyKey, options, input } = spec;
  draft.isFit &&=
    draft.isNew &&
    draft.spec === null &&
    taskNo === 0 &&
    parentNo === null &&
    dependsOn.length === 0 &&
    // Found by an index of specs.
    idempotencyKey === null &&
    lengthOf(options, input) <= TEXT_MAX;
  draft.spec = spec;
}

function takeTask(draft: Draft | undefined, task: TaskRow): void {
  if (draft === undefined) return;
  draft.isFit &&= draft.task === null && isPlain(task) && task.finishedAt === draft.job.finishedAt;
  draft.task = task;
}

const isPlain = ({ taskNo, run, waits }: TaskRow): boolean =>
  taskNo === 0 && run === 1 && waits === null;

function isWhole(draft: Draft | undefined): draft is Draft {
  return (
    draft !== undefined &&
    draft.isFit &&
    draft.task !== null &&
    draft.isNew === (draft.spec !== null)
  );
}

function takeResult(draft: Draft | undefined, { taskNo, run, body }: ResultRow): boolean {
  if (!isWhole(draft) || draft.result !== null || body.length > TEXT_MAX) return false;
  if (taskNo !== 0 || run !== 1) return false;
  draft.result = body;
  return true;
}

/** Stored jobs whose task does not fit into their row any longer. Those that never had it there are passed over. */
function spreadIn(
  { jobInserts, jobUpdates, specInserts, taskUpdates, archived }: Batch,
  history: readonly TaskRow[],
  drafts: PagedMap<JobNo, Draft>,
): readonly JobNo[] {
  const spread = new Set<JobNo>();
  const isNew = (jobNo: JobNo): boolean => drafts.get(jobNo)?.isNew === true;
  for (const { jobNo } of specInserts) if (!isNew(jobNo)) spread.add(jobNo);
  for (const { jobNo } of archived) spread.add(jobNo);
  for (const { jobNo } of history) spread.add(jobNo);
  for (const task of taskUpdates) {
    const draft = drafts.get(task.jobNo);
    const isFit = draft === undefined ? isPlain(task) && task.finishedAt === null : draft.isFit;
    if (task.taskNo === 0 && !isFit) spread.add(task.jobNo);
  }
  for (const { no, run, finishedAt } of jobUpdates) {
    // The end of the job would be taken for that of its task.
    const isBare = finishedAt !== null && drafts.get(no)?.task === null;
    if (run > 1 || isBare) spread.add(no);
  }
  if (spread.size > 0) for (const { no } of jobInserts) spread.delete(no);
  return [...spread];
}
