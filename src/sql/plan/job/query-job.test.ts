import { describe, expect, test } from 'vitest';
import {
  defaultSettings,
  fragmentTaskId,
  parseJobDocument,
  resolveInput,
  resolveJobResult,
  type Json,
  type TaskId,
} from '../../../scheduler/core/index.ts';
import {
  EXAMPLE_TABLES,
  ORDERED_TABLES,
  examplePlan,
} from '../../../../test/sql/plan/example-plan.ts';
import type { Stage } from '../physical/plan.ts';
import type { FragmentTask } from '../physical/task.ts';
import { QUERY_JOB_DEFAULTS, queryJob } from './query-job.ts';
import { readPlan } from './read-plan.ts';

const plan = examplePlan();
const { document, seeds } = queryJob(plan, EXAMPLE_TABLES, defaultSettings);

function task(id: string): (typeof document.tasks)[number] {
  const found = document.tasks.find((each) => each.id === id);
  if (found === undefined) throw new Error(`There is no task ${id}.`);
  return found;
}

/** What every task has answered, as far as templates look at it. */
function resultOf(id: TaskId): Json {
  if (id === 'plan') return JSON.parse(seeds.get(0 as never)?.result ?? 'null') as Json;
  const parts = Array.from({ length: 4 }, (_, at) => ({ rows: at, bytes: 0, segments: [] }));
  return { at: { task: id, fence: 1 }, parts };
}

function inputOf(id: string): FragmentTask {
  const resolved = resolveInput(task(id).input, resultOf, () => 'succeeded');
  if (!resolved.ok) throw new Error('not resolved');
  return resolved.input as unknown as FragmentTask;
}

describe('the job of a query', () => {
  test('has the plan as the result of its first task, then the tasks of each stage', () => {
    expect(document.tasks.map(({ id }) => id)).toEqual([
      'plan',
      ...plan.stages.flatMap(({ id, tasks }) =>
        Array.from({ length: tasks }, (_, at) => `s${id}.${at}`),
      ),
    ]);
    expect(seeds.size).toBe(1);
    expect(seeds.get(0 as never)).toEqual({ state: 'succeeded', result: JSON.stringify(plan) });
    expect(fragmentTaskId(3, 1)).toBe('s3.1');
  });

  test('gives each task its fragment, its splits and its partitions of earlier stages', () => {
    const [first, second] = [inputOf('s0.0'), inputOf('s0.3')];
    expect(first.fragment).toEqual(plan.stages[0]?.fragment);
    expect(first.output).toEqual(plan.stages[0]?.output);
    expect(first.session).toEqual(plan.session);
    const [relation] = Object.keys(first.ranges);
    const bound = first.ranges[relation ?? '']?.[0]?.to;
    expect(bound).toBeGreaterThan(0);
    expect(second.ranges[relation ?? '']?.[0]?.from).toBeGreaterThanOrEqual(bound ?? 0);

    const reader = plan.stages.find(({ fragment }) => fragment.inputs[0]?.mode === 'partition');
    const input = inputOf(`s${reader?.id}.2`);
    const [name, reads] = Object.entries(input.reads)[0] ?? [];
    expect(reads).toEqual(
      [0, 1, 2, 3].map((producer) => ({
        at: { task: `s${reader?.fragment.inputs[0]?.stage}.${producer}`, fence: 1 },
        partition: 2,
        part: { rows: 2, bytes: 0, segments: [] },
      })),
    );
    expect(name).toBe(reader?.fragment.inputs[0]?.relation);
  });

  test('gives each task its range of clustered tables, and joins them without an exchange', () => {
    const split = examplePlan(4, 1_000_000, ORDERED_TABLES);
    const [joined] = split.stages;
    expect(joined?.fragment.scans.map(({ table }) => table)).toEqual(['large', 'other']);
    const bounds = joined?.fragment.scans.map((scan) => scan.split?.bounds);
    expect(bounds?.[0]).toHaveLength(3);
    expect(bounds?.[1]).toEqual(bounds?.[0]);
    const { document: job } = queryJob(split, ORDERED_TABLES, defaultSettings);
    const spans = [0, 1, 2, 3].map((at) => {
      const input = JSON.parse(job.tasks[at + 1]?.input ?? '') as Pick<FragmentTask, 'spans'>;
      return Object.values(input.spans ?? {}).map(({ from, to }) => [from, to]);
    });
    const [a, b, c] = bounds?.[0] ?? [];
    const once = [null, a, b, c, null];
    expect(spans).toEqual(
      [0, 1, 2, 3].map((at) => [
        [once[at], once[at + 1]],
        [once[at], once[at + 1]],
      ]),
    );
  });

  test('is refused for a split by a column that is not clustered', () => {
    const split = examplePlan(4, 1_000_000, ORDERED_TABLES);
    expect(() => queryJob(split, EXAMPLE_TABLES, defaultSettings)).toThrow(
      /cannot be split by 'id': it is not a clustered column/,
    );
  });

  test('is refused for a split by a cast column', () => {
    const text = JSON.stringify(examplePlan(4, 1_000_000, ORDERED_TABLES));
    const cast = text.replace(
      '{"source":"id","type":"BIGINT"}',
      '{"source":"id","type":"BOOLEAN"}',
    );
    expect(() => queryJob(readPlan(JSON.parse(cast)), ORDERED_TABLES, defaultSettings)).toThrow(
      /cannot be split by 'id': it is BIGINT, not BOOLEAN/,
    );
  });

  test('lets a task wait for the plan and for all that it reads, and for nothing after itself', () => {
    for (const [no, { dependsOn, input }] of document.tasks.entries()) {
      if (no === 0) continue;
      const named = new Set([...(input ?? '').matchAll(/"\$from":"([^"]+)"/g)].map(([, id]) => id));
      const waited = dependsOn.map((dependency) => document.tasks[dependency.no]?.id);
      expect(new Set(waited)).toEqual(named);
      expect(dependsOn.every((each) => each.required && each.no < no)).toBe(true);
    }
  });

  test('runs where the version of DuckDB and, for tables, the root is', () => {
    expect(task('s0.0').options.placement.capabilities).toEqual({
      duckdb: 'v1.5.6',
      roots: ['/data'],
    });
    const last = plan.stages.at(-1)?.id;
    expect(task(`s${last}.0`).options.placement.capabilities).toEqual({ duckdb: 'v1.5.6' });
  });

  test('runs the tasks of a stage, and no others, where its operators are', () => {
    const stages = plan.stages.map((stage) => ({
      ...stage,
      requires: stage.id === 2 ? ['geo', 'rank'] : [],
    }));
    const { document: job, seeds: plans } = queryJob(
      { ...plan, stages },
      EXAMPLE_TABLES,
      defaultSettings,
    );
    for (const { id, options, input } of job.tasks) {
      const requires = id.startsWith('s2.') ? ['geo', 'rank'] : [];
      expect(options.placement.executors).toEqual(requires.map((name) => `operator:${name}`));
      if (id === 'plan') continue;
      const result = (producer: TaskId): Json | undefined =>
        producer === 'plan'
          ? (JSON.parse(plans.get(0 as never)?.result ?? '') as Json)
          : resultOf(producer);
      const resolved = resolveInput(input, result, () => 'succeeded');
      expect(resolved).toMatchObject({ ok: true, input: { requires } });
    }
  });

  test('names the version of the format in tasks that older workers cannot run, and only there', () => {
    const custom = { op_name: 'geo', input: 'r0', params: {} };
    const stages = plan.stages.map((stage) =>
      stage.id === 2 ? { ...stage, fragment: { ...stage.fragment, custom } } : stage,
    );
    const { document: job } = queryJob({ ...plan, stages }, EXAMPLE_TABLES, defaultSettings);
    for (const { id, input } of job.tasks) {
      const { version } = JSON.parse(input ?? '{}') as { readonly version?: number };
      expect([id, version]).toEqual([id, id.startsWith('s2.') ? 3 : undefined]);
    }
  });

  test('says which outputs are deterministic', () => {
    for (const stage of plan.stages)
      expect(task(`s${stage.id}.0`).options.output).toBe(
        stage.nonDeterministic === null ? 'deterministic' : 'non-deterministic',
      );
    expect(task('plan').options.output).toBeUndefined();
  });

  test('starts no task with code of a user a second time', () => {
    const stages = plan.stages.map((stage) => ({
      ...stage,
      requires: stage.id === 2 ? ['geo'] : [],
    }));
    const options = { ...QUERY_JOB_DEFAULTS, stragglerFactor: 2 };
    const { document: job } = queryJob(
      { ...plan, stages },
      EXAMPLE_TABLES,
      defaultSettings,
      options,
    );
    for (const { id, options: own } of job.tasks.slice(1))
      expect([id, own.stragglerFactor]).toEqual([id, id.startsWith('s2.') ? 0 : 2]);
    expect(task('s0.0').options.stragglerFactor).toBeUndefined();
  });

  test('returns the columns and the results of the last stage', () => {
    const tasks = document.tasks.map(({ id }) => ({
      ...{ id, state: 'succeeded' as const, parentNo: null, dependedOn: true },
      result: JSON.stringify(resultOf(id)),
    }));
    expect(resolveJobResult(document.output, tasks)).toEqual({
      columns: plan.columns,
      parts: [resultOf(fragmentTaskId(plan.stages.length - 1, 0))],
    });
  });

  test('is a document that a user could have written, but for what only queries have', () => {
    const raw = {
      name: document.name,
      tasks: document.tasks.map(({ id, dependsOn, input }) => ({
        ...{ id, executor: 'echo', dependsOn: dependsOn.map(({ no }) => document.tasks[no]?.id) },
        input: JSON.parse(input ?? 'null') as Json,
      })),
    };
    const parsed = parseJobDocument(raw, defaultSettings);
    expect(parsed.tasks.map(({ dependsOn }) => dependsOn)).toEqual(
      document.tasks.map(({ dependsOn }) => dependsOn),
    );
  });
});

describe('options of a query', () => {
  const { tasks, ...job } = queryJob(plan, EXAMPLE_TABLES, defaultSettings, {
    ...QUERY_JOB_DEFAULTS,
    priority: 1,
    idempotencyKey: 'once',
    maxAttempts: 7,
    stragglerFactor: 5,
    timeoutMs: 9_000,
    memoryBytes: 1_000,
    scope: 'of some tables',
    processors: 9,
  }).document;

  test('go to the job and its tasks', () => {
    expect(job).toMatchObject({ priority: 1, idempotencyKey: 'once', totalMs: 9_000 });
    expect(job.maxParallel).toBe(32);
    expect(tasks.map(({ priority }) => priority)).toEqual(tasks.map(() => 1));
    expect(tasks.at(-1)?.options).toMatchObject({ retry: { maxAttempts: 7 }, stragglerFactor: 5 });
    expect(JSON.parse(tasks.at(-1)?.input ?? '')).toMatchObject({
      ...{ memoryBytes: 1_000, scope: 'of some tables' },
    });
  });

  test('give each task of a stage its share of the processors, and the only one all of them', () => {
    const inputs = tasks.slice(1).map(({ input }) => JSON.parse(input ?? '') as FragmentTask);
    for (const { stage, threads } of inputs) {
      const { tasks: siblings = 0 } = plan.stages[stage] ?? {};
      expect(threads).toBe(siblings === 1 ? undefined : Math.floor(9 / siblings));
    }
    expect(new Set(inputs.map(({ threads }) => threads)).size).toBe(2);
  });

  test('ask the last stage for rows without a file, unless they are likely to be many', () => {
    const [last] = plan.stages.slice(-1) as [Stage];
    const aloneWith = (rows: number | null): (boolean | undefined)[] => {
      const stages = [
        ...plan.stages.slice(0, -1),
        { ...last, estimate: { ...last.estimate, rows } },
      ];
      const made = queryJob(
        { ...plan, stages },
        EXAMPLE_TABLES,
        defaultSettings,
        QUERY_JOB_DEFAULTS,
      );
      const inputs = made.document.tasks
        .slice(1)
        .map(({ input }) => JSON.parse(input ?? '') as FragmentTask);
      return inputs.map(({ stage, rowsAlone }) =>
        stage === last.id ? rowsAlone : rowsAlone === true,
      );
    };
    const { length } = tasks.slice(1);
    const others = Array.from({ length: length - last.tasks }, () => false);
    for (const rows of [null, 5]) expect(aloneWith(rows)).toEqual([...others, true]);
    expect(aloneWith(10_000_000)).toEqual([...others, undefined]);
  });

  test('ask for the memory of all tasks that run at the same time', () => {
    expect(tasks[0]?.options.admission).toEqual({ memoryBytes: 4_000 });
    expect(document.tasks[0]?.options.admission).toEqual({ memoryBytes: 0 });
  });
});

describe('the name of a query', () => {
  const nameOf = (sql: string): string =>
    queryJob({ ...plan, sql }, EXAMPLE_TABLES, defaultSettings).document.name;

  test('is its text on one line, truncated if it is long', () => {
    expect(nameOf('SELECT\n\t1,  2')).toBe('sql: SELECT 1, 2');
    expect(nameOf('x'.repeat(200))).toBe(`sql: ${'x'.repeat(77)}...`);
    expect(nameOf('😀'.repeat(100))).toBe(`sql: ${'😀'.repeat(77)}...`);
  });
});

describe('a plan that cannot become a job', () => {
  test('names an unknown table', () => {
    expect(() => queryJob(plan, [], defaultSettings)).toThrow(/There is no table 'large'/);
  });

  test('names files that are not of the table', () => {
    const tables = EXAMPLE_TABLES.map((table) => ({ ...table, files: [] }));
    const stages = plan.stages.map((stage) => ({
      ...stage,
      fragment: {
        ...stage.fragment,
        scans: stage.fragment.scans.map((scan) => ({ ...scan, files: ['/elsewhere'] })),
      },
    }));
    expect(() => queryJob({ ...plan, stages }, tables, defaultSettings)).toThrow(
      /does not have all files/,
    );
  });

  test('splits files whose number of rows is not known', () => {
    const tables = EXAMPLE_TABLES.map((table) => ({
      ...table,
      files: table.files.map((file) => ({ ...file, rows: null })),
    }));
    expect(() => queryJob(plan, tables, defaultSettings)).toThrow(/cannot be split/);
  });

  test('is larger than the scheduler takes', () => {
    const few = { ...defaultSettings, tasksPerJobMax: 3 };
    expect(() => queryJob(plan, EXAMPLE_TABLES, few)).toThrow(/tasks, 3 are allowed/);
    const small = { ...defaultSettings, resultBytesMax: 100 };
    expect(() => queryJob(plan, EXAMPLE_TABLES, small)).toThrow(/The plan is \d+ bytes/);
    const narrow = { ...defaultSettings, inputBytesMax: 100 };
    expect(() => queryJob(plan, EXAMPLE_TABLES, narrow)).toThrow(/The input of task s0\.0/);
  });
});
