/** A query as people see it: its plan, and the progress of its tasks. */
import type { Instant, JobRow, TaskError, TaskRow, TaskState } from '../../scheduler/core/index.ts';
import type { QueryShape, StageShape } from '../../scheduler/contract/index.ts';
import type { FragmentMetrics, QueryPlan, Stage, StageOutput } from '../../sql/plan/index.ts';
import { dateOf, dateOrNull } from './row-shapes.ts';
import { filtersOf, groupingOf, joinOf, type StageDecision } from './stage-decisions.ts';

/** The figures of a finished task, from its result. */
export interface TaskFigures {
  readonly metrics: FragmentMetrics;
  /** Bytes of each partition. */
  readonly partitionBytes: readonly number[];
}

export interface QueryRows {
  readonly job: JobRow;
  /** Null when it is not known: then there are no stages either. */
  readonly plan: QueryPlan | null;
  /** By number. The first one is that of the plan. */
  readonly tasks: readonly TaskRow[];
  readonly figures: ReadonlyMap<number, TaskFigures>;
  readonly decisions: readonly StageDecision[];
  readonly waiting: QueryShape['waiting'];
  readonly resultTtlMs: number;
  readonly now: Instant;
}

export function queryShape(rows: QueryRows): QueryShape<Date> {
  const { job, plan, tasks, waiting, resultTtlMs } = rows;
  return {
    id: job.id,
    state: job.state,
    sql: plan?.sql ?? job.name,
    error: errorOf(job, tasks),
    columns: plan?.columns ?? [],
    single: plan?.single ?? null,
    partitions: plan?.partitions ?? 0,
    stages: plan === null ? [] : stagesOf(rows, plan),
    waiting,
    submittedAt: dateOf(job.createdAt),
    startedAt: dateOrNull(job.startedAt),
    finishedAt: dateOrNull(job.finishedAt),
    expiresAt:
      job.state === 'succeeded' && job.finishedAt !== null
        ? dateOf((job.finishedAt + resultTtlMs) as Instant)
        : null,
  };
}

/** The number of a stage's first task: stages come one after the other, behind the plan. */
export function firstTasks(stages: readonly Pick<Stage, 'tasks'>[]): readonly number[] {
  let next = 1;
  return stages.map(({ tasks }) => {
    const first = next;
    next += tasks;
    return first;
  });
}

/** What failed says more than that something did. */
function errorOf(job: JobRow, tasks: readonly TaskRow[]): TaskError | null {
  if (job.error?.code === 'timeout')
    return { code: 'timeout', message: 'The query did not end within its timeoutMs.' };
  if (job.error?.code !== 'task_failed') return job.error;
  return tasks.find(({ state }) => state === 'failed')?.error ?? job.error;
}

function stagesOf(rows: QueryRows, plan: QueryPlan): readonly StageShape[] {
  const first = firstTasks(plan.stages);
  const readers = readersOf(plan);
  return plan.stages.map((stage, at) => {
    const from = first[at] ?? 0;
    const tasks = rows.tasks.slice(from, from + stage.tasks);
    const figures = tasks.flatMap(({ taskNo }) => rows.figures.get(taskNo) ?? []);
    return stageShape(stage, { rows, tasks, figures, isBroadcast: readers.get(at) === 'all' });
  });
}

/** How each stage is read; by several readers in the same way. */
function readersOf({ stages }: QueryPlan): ReadonlyMap<number, string> {
  return new Map(
    stages.flatMap(({ fragment, tasks }) =>
      fragment.inputs.map(({ stage, mode }): [number, string] => [
        stage,
        mode === 'all' && tasks === 1 ? 'one' : mode,
      ]),
    ),
  );
}

interface StageRows {
  readonly rows: QueryRows;
  readonly tasks: readonly TaskRow[];
  readonly figures: readonly TaskFigures[];
  readonly isBroadcast: boolean;
}

function stageShape(stage: Stage, { rows, tasks, figures, isBroadcast }: StageRows): StageShape {
  const sum = (of: (metrics: FragmentMetrics) => number): number =>
    figures.reduce((total, { metrics }) => total + of(metrics), 0);
  const state = stateOf(stage, tasks);
  const count = (...states: TaskState[]): number =>
    tasks.filter((task) => states.includes(task.state)).length;
  return {
    id: stage.id,
    title: stage.title,
    state,
    output: outputWords(stage.output, isBroadcast),
    inputs: stage.fragment.inputs.map((input) => ({ stage: input.stage, mode: input.mode })),
    tasks: {
      total: stage.tasks,
      queued: count('blocked', 'ready', 'delayed'),
      running: count('running'),
      succeeded: count('succeeded'),
      failed: count('failed'),
      recomputed: tasks.reduce((total, { run }) => total + Math.max(0, run - rows.job.run), 0),
    },
    estimate: stage.estimate,
    rowsIn: sum(({ rowsIn }) => rowsIn),
    rowsOut: sum(({ rowsOut }) => rowsOut),
    bytesOut: sum(({ bytesOut }) => bytesOut),
    batches: sum(({ batches }) => batches),
    fetchedBytes: sum(({ fetchedBytes }) => fetchedBytes),
    earlyBytes: sum(({ earlyBytes }) => earlyBytes ?? 0),
    spilledBytes: sum(({ spilledBytes }) => spilledBytes),
    elapsedMs: elapsedMs(tasks, figures, state === 'running' ? rows.now : null),
    workMs: Math.round(sum(workMs)),
    partitionBytes: state === 'succeeded' ? partitionSums(figures) : [],
    grouping: groupingOf(rows.decisions, stage.id),
    filters: filtersOf(rows.decisions, stage.id),
    filteredRows: filteredRows(figures),
    join: joinOf(rows.decisions, stage.id),
  };
}

function stateOf({ tasks: total }: Stage, tasks: readonly TaskRow[]): StageShape['state'] {
  const has = (...states: TaskState[]): boolean =>
    tasks.some(({ state }) => states.includes(state));
  if (has('failed')) return 'failed';
  if (has('cancelled', 'skipped')) return 'cancelled';
  if (tasks.length === total && tasks.every(({ state }) => state === 'succeeded')) {
    return 'succeeded';
  }
  return has('running', 'succeeded') ? 'running' : 'waiting';
}

function outputWords(output: StageOutput, isBroadcast: boolean): string {
  switch (output.kind) {
    case 'hash':
      return `hash(${output.partitions})`;
    case 'range':
      return `range(${output.partitions})`;
    case 'whole':
      return isBroadcast ? 'broadcast' : 'gather';
    case 'result':
      return 'result';
  }
}

function workMs({ fetchMs, runMs, writeMs }: FragmentMetrics): number {
  return fetchMs + runMs + writeMs;
}

/** A short task tells its start with its end: then what it has measured itself says more. */
function elapsedMs(
  tasks: readonly TaskRow[],
  figures: readonly TaskFigures[],
  now: Instant | null,
): number | null {
  const starts = tasks.flatMap(({ startedAt }) => startedAt ?? []);
  if (starts.length === 0) return null;
  const ends = tasks.flatMap(({ finishedAt }) => finishedAt ?? []);
  const end = now ?? Math.max(...ends, ...starts);
  const longestMs = Math.max(0, ...figures.map(({ metrics }) => workMs(metrics)));
  return Math.max(Math.round(longestMs), end - Math.min(...starts));
}

/** Null if none of its tasks has counted them. */
function filteredRows(figures: readonly TaskFigures[]): number | null {
  const counts = figures.flatMap(({ metrics }) => metrics.filteredRows ?? []);
  return counts.length === 0 ? null : counts.reduce((sum, each) => sum + each, 0);
}

function partitionSums(figures: readonly TaskFigures[]): readonly number[] {
  const sums: number[] = [];
  for (const { partitionBytes } of figures) {
    for (const [at, bytes] of partitionBytes.entries()) sums[at] = (sums[at] ?? 0) + bytes;
  }
  return sums;
}
