import { describe, expect, test } from 'vitest';
import { defaultSettings, resolveInput, type Json } from '../../../scheduler/core/index.ts';
import { EXAMPLE_TABLES, examplePlan } from '../../../../test/sql/plan/example-plan.ts';
import { QUERY_JOB_DEFAULTS, queryJob } from '../job/query-job.ts';
import type { QueryPlan, RuntimeFilter } from '../physical/plan.ts';
import type { FragmentTask, KeySummary } from '../physical/task.ts';
import { decide } from './decide.ts';
import { KEYS_MAX, type FilterDecision } from './decide-filters.ts';
import { filterTasks } from './filter-tasks.ts';

const PLAIN = examplePlan();
const [relation = ''] = PLAIN.stages[0]?.fragment.scans.map((scan) => scan.relation) ?? [];
const FILTER: RuntimeFilter = {
  ...{ stage: 0, relation, column: 1, type: 'BIGINT', name: 't.k', matchesNull: false },
  keys: { stage: 1, column: 0 },
};

function jobOf(plan: QueryPlan): ReturnType<typeof queryJob> {
  return queryJob(plan, EXAMPLE_TABLES, defaultSettings, QUERY_JOB_DEFAULTS);
}

const keys = (values: readonly string[], hasNull = false): KeySummary => ({
  ...{ hasNull, values },
  min: values[0] ?? null,
  max: values.at(-1) ?? null,
});

/** What is decided if the tasks of the stage with the keys have reported this. */
function decided(
  reported: readonly (KeySummary | null | undefined)[],
  more: Partial<RuntimeFilter> = {},
  rows = 5,
): FilterDecision {
  const { document } = jobOf({ ...PLAIN, filters: [{ ...FILTER, ...more }] });
  const task = document.tasks.find(({ id }) => id === 's0.filter');
  const input = resolveInput(
    task?.input ?? null,
    (id) => {
      const summary = reported[Number(id.slice(3)) % reported.length];
      const known = summary === undefined ? {} : { keys: [summary] };
      return { parts: [{ rows }, { rows: 0 }], ...known } as unknown as Json;
    },
    () => 'succeeded',
  );
  if (!input.ok) return expect.fail(JSON.stringify(input));
  return JSON.parse(decide(input.input, 4).result) as FilterDecision;
}

const text = (...args: Parameters<typeof decided>): string | undefined =>
  decided(...args).filters[relation];

describe('the tasks of a filtered query', () => {
  const plan = { ...PLAIN, filters: [FILTER], coalesce: { targetBytes: 9 } };
  const { document } = jobOf(plan);
  const task = (id: string): (typeof document.tasks)[number] =>
    document.tasks.find((each) => each.id === id) ?? expect.fail(`There is no task ${id}.`);
  const names = (id: string): readonly (string | undefined)[] =>
    task(id).dependsOn.map(({ no }) => document.tasks[no]?.id);

  test('the scan waits for the decision, and that for all tasks that have keys', () => {
    const producers = document.tasks.map(({ id }) => id).filter((id) => /^s1\.\d/.test(id));
    expect(producers.length).toBeGreaterThan(1);
    expect(names('s0.filter')).toEqual(producers);
    expect(names('s0.0')).toContain('s0.filter');
    expect(names('s1.0')).not.toContain('s0.filter');
    expect(filterTasks(plan).map(({ no }) => document.tasks[no]?.id)).toEqual(['s0.filter']);
  });

  test('only they are asked for keys and given filters', () => {
    const given = (id: string): Partial<FragmentTask> =>
      JSON.parse(task(id).input ?? '') as Partial<FragmentTask>;
    expect(given('s1.0').keys).toEqual({ columns: [0], tasks: PLAIN.stages[1]?.tasks });
    expect(given('s0.0').filters).toEqual({ $from: 's0.filter', path: '/filters' });
    expect(given('s0.0').countsFiltered).toBeUndefined();
    expect([given('s0.0').keys, given('s1.0').filters, given('s2.0').filters]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
    const analyzed = jobOf({ ...plan, analyze: true }).document.tasks.find(
      ({ id }) => id === 's0.0',
    );
    expect(analyzed?.input).toContain('"countsFiltered":true');
  });

  test('a query without filters has none of it', () => {
    const plain = jobOf(PLAIN).document.tasks.map(({ id, input }) => `${id} ${input ?? ''}`);
    expect(plain.filter((each) => /filter|"keys"/.test(each))).toEqual([]);
  });
});

describe('a filter', () => {
  const literal = (value: string): string => `CAST('${value}' AS BIGINT)`;
  const range = (low: string, high: string): string =>
    `c1 >= least(${low}) AND c1 <= greatest(${high})`;

  test('is the range of all tasks and the list of their keys, each once', () => {
    const both = `${literal('1')}, ${literal('7')}`;
    expect(text([keys(['1', '7']), keys(['7', '9'])])).toBe(
      `(${range(both, `${literal('7')}, ${literal('9')}`)} AND c1 IN (${both}, ${literal('9')}))`,
    );
    expect(text([keys(['4'])])).toBe(`(${range(literal('4'), literal('4'))})`);
  });

  test('is a range only, if a task has too many keys, or all of them together', () => {
    const many = Array.from({ length: KEYS_MAX }, (_, at) => String(1_000 + at));
    const bounds = (low: readonly string[], high: readonly string[]): string =>
      `(${range(low.map(literal).join(', '), high.map(literal).join(', '))})`;
    expect(text([keys(many)])).toContain(' IN (');
    expect(text([keys(many), keys(['5'])])).toBe(bounds(['1000', '5'], ['1999', '5']));
    expect(text([{ ...keys(['2', '3']), values: null }])).toBe(bounds(['2'], ['3']));
    expect(decided([keys(many), keys(['5'])]).made).toMatchObject([{ by: 'range', keys: null }]);
  });

  test('is a range and a bitmap, if every task has one and they are not too full', () => {
    const bits = (byte: number): string => Buffer.alloc(1_024, byte).toString('base64');
    const long = (byte: number): KeySummary => ({
      ...keys(['2', '3']),
      values: null,
      bits: bits(byte),
    });
    const bitmap = `get_bit(CAST(from_base64('${bits(0x11)}') AS BIT), CAST(hash(c1) % 8192 AS INTEGER)) = 1`;
    expect(text([long(0x10), { ...keys(['2', '3']), bits: bits(0x01) }])).toBe(
      `(${range(literal('2'), literal('3'))} AND ${bitmap})`,
    );
    expect(decided([long(0x10)]).made).toMatchObject([{ by: 'bitmap', keys: null }]);
    for (const other of [long(0xf7), keys(['2', '3'])])
      expect(decided([long(0x10), other]).made).toMatchObject([{ by: 'range' }]);
  });

  test('is not made if a task with rows has not reported its keys', () => {
    for (const missing of [null, undefined])
      expect(decided([keys(['1']), missing])).toMatchObject({
        filters: {},
        made: [{ by: 'none' }],
      });
  });

  test('leaves out everything, if there are no rows or only NULL', () => {
    expect(text([undefined], {}, 0)).toBe('(false)');
    expect(text([keys([], true)])).toBe('(false)');
    expect(decided([keys([], true)]).made).toMatchObject([{ by: 'empty', keys: 0, from: 1 }]);
  });

  test('keeps NULL where the join compares NULL with NULL, and there is one', () => {
    const matchesNull = true;
    expect(text([keys([], true)], { matchesNull })).toBe('(c1 IS NULL)');
    expect(text([keys(['4'], true)], { matchesNull })).toMatch(/^\(\(c1 >= .*\) OR c1 IS NULL\)$/);
    expect(text([keys(['4'], false)], { matchesNull })).not.toContain('NULL');
    expect(text([keys(['4'], true)])).not.toContain('NULL');
  });

  test('quotes what workers report', () => {
    expect(text([keys(["' OR true --"])], { type: 'VARCHAR' })).toBe(
      `(c1 >= least(CAST(''' OR true --' AS VARCHAR)) AND c1 <= greatest(CAST(''' OR true --' AS VARCHAR)))`,
    );
  });
});
