/** A small query as a job: two scans, and one task that puts their rows together. Nothing of it is run. */
import {
  checkedSettings,
  parseJobDocument,
  taskNo,
  type JobDocument,
  type Seed,
  type TaskNo,
} from '../../src/scheduler/core/index.ts';
import {
  FRAGMENT_EXECUTOR,
  PLAN_EXECUTOR,
  PLAN_TASK,
  type FragmentMetrics,
  type FragmentResult,
  type QueryPlan,
  type Stage,
} from '../../src/sql/plan/index.ts';

export interface QueryJob {
  readonly document: JobDocument;
  readonly seeds: ReadonlyMap<TaskNo, Seed>;
}

function stage(id: number, tasks: number, more: Partial<Stage>): Stage {
  return {
    id,
    title: id === 0 ? 'scan t' : 'collect',
    tasks,
    fragment: { sql: 'SELECT 1 AS c0', columns: [], scans: [], inputs: [], tables: [] },
    output: { kind: 'whole' },
    estimate: { rows: 10, bytes: 100 },
    operators: ['SCAN t'],
    nonDeterministic: null,
    requires: [],
    ...more,
  };
}

export const samplePlan: QueryPlan = {
  version: 2,
  duckdb: 'v1.5.6',
  sql: 'select a from t',
  columns: [{ name: 'a', type: 'BIGINT' }],
  ordered: false,
  partitions: 2,
  single: null,
  stages: [
    stage(0, 2, { output: { kind: 'hash', by: ['c0'], partitions: 2 } }),
    stage(1, 1, {
      output: { kind: 'result' },
      fragment: {
        sql: 'SELECT c0 FROM i0',
        columns: [],
        scans: [],
        inputs: [{ relation: 'i0', stage: 0, mode: 'all', columns: [] }],
        tables: [],
      },
    }),
  ],
  session: { timeZone: 'UTC', now: '2026-11-15 00:00:00+00' },
  roots: [],
};

/** Made by hand, as the planner would. */
export function queryJob(plan: QueryPlan = samplePlan, more: object = {}): QueryJob {
  const parsed = parseJobDocument(
    {
      name: `sql: ${plan.sql}`,
      tasks: [
        // What runs queries is refused in a document, and put in below.
        { id: PLAN_TASK, executor: 'plan' },
        { id: 's0.0', executor: 'fragment', dependsOn: [PLAN_TASK] },
        { id: 's0.1', executor: 'fragment', dependsOn: [PLAN_TASK] },
        { id: 's1.0', executor: 'fragment', dependsOn: [PLAN_TASK, 's0.0', 's0.1'] },
      ],
      output: {
        columns: { $from: PLAN_TASK, path: '/columns' },
        parts: [{ $from: 's1.0' }],
      },
      ...more,
    },
    checkedSettings(),
  );
  const document: JobDocument = {
    ...parsed,
    tasks: parsed.tasks.map((task) =>
      task.id === PLAN_TASK
        ? {
            ...{ ...task, executor: PLAN_EXECUTOR },
            options: { ...task.options, admission: { memoryBytes: 0 } },
          }
        : {
            ...{ ...task, executor: FRAGMENT_EXECUTOR },
            options: { ...task.options, output: 'deterministic' },
          },
    ),
  };
  const seed: Seed = { state: 'succeeded', result: JSON.stringify(plan) };
  return { document, seeds: new Map([[taskNo(0), seed]]) };
}

const METRICS: FragmentMetrics = {
  rowsIn: 100,
  rowsOut: 10,
  bytesOut: 50,
  batches: 1,
  fetchedBytes: 7,
  localBytes: 3,
  fetchMs: 1,
  runMs: 2,
  writeMs: 3,
  spilledBytes: 0,
};

/** What a task that has run a fragment answers. */
export function fragmentResult(
  task: string,
  more: Partial<FragmentResult> & { readonly metrics?: FragmentMetrics } = {},
): FragmentResult {
  return {
    at: {
      task,
      fence: 1,
      node: 'w',
      address: null,
      folder: '/nowhere',
      index: 'hash',
      epoch: 1,
      layout: 1,
    },
    parts: [
      { rows: 5, bytes: 20, segments: [[20, 1]] },
      { rows: 5, bytes: 30, segments: [[30, 2]] },
    ],
    inline: null,
    metrics: METRICS,
    ...more,
  };
}
