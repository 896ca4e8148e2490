import { describe, expect, test } from 'vitest';
import { examplePlan } from '../../../../test/sql/plan/example-plan.ts';
import type { QueryPlan } from '../physical/plan.ts';
import { explainAnalyze, explainPlan, type StageMeasure } from './explain.ts';
import { bytesText, countText, durationText } from './figures.ts';

const plan = examplePlan();

function measureOf(id: number, more: Partial<StageMeasure> = {}): StageMeasure {
  return {
    id,
    state: 'succeeded',
    tasks: { total: 4, succeeded: 4, recomputed: 0 },
    rowsIn: 3_000_000,
    rowsOut: 1_200,
    bytesOut: 2_500_000,
    fetchedBytes: 512,
    spilledBytes: 0,
    elapsedMs: 812,
    workMs: 1_000,
    partitionBytes: [10, 10, 10, 10],
    ...more,
  };
}

describe('a plan, explained', () => {
  test('shows stages, operators, exchanges and estimates', () => {
    expect(explainPlan(plan)).toBe(`\
5 stages, 17 tasks, data in 4 partitions, DuckDB v1.5.6

stage 0  scan large                                              4 tasks  ~3,000,000 rows  ~45.8 MiB
│ exchange by id
│   scan large: id, price
└▶ by hash into 4 partitions for stage 2

stage 1  scan other                                                4 tasks  ~800,000 rows  ~12.2 MiB
│ exchange by id
│   scan other: id, name
└▶ by hash into 4 partitions for stage 2

stage 2  join, aggregate                                         4 tasks  ~2,500,000 rows  ~57.2 MiB
│ exchange by name
│   aggregate (partial) by name: sum(price)
│     inner join on id = id
│       partition of stage 0
│       partition of stage 1
└▶ by hash into 4 partitions for stage 3

stage 3  aggregate                                                 4 tasks  ~700,000 rows  ~16.0 MiB
│ aggregate (final) by name: sum(price)
│   partition of stage 2
└▶ gathered by stage 4

stage 4  sort                                                       1 task  ~700,000 rows  ~16.0 MiB
│ sort by sum(price) desc
│   all of stage 3
└▶ result, in order
`);
  });

  test('says what is broadcast', () => {
    const text = explainPlan(examplePlan(4, 20_000_000, undefined, 50_000));
    expect(text).toContain('└▶ broadcast to the 4 tasks of stage 1');
    expect(text).toContain('│       all of stage 0\n');
  });

  test('says what every task reads: a table of which a stage would leave nothing out', () => {
    const text = explainPlan(examplePlan(4, 20_000_000));
    expect(text).toContain('│       scan other (all rows in every task): id, name\n');
  });

  test('says why it is not distributed, in short lines', () => {
    const single = `it is recursive, ${'and so on '.repeat(20)}`.trim();
    const whole: QueryPlan = {
      ...plan,
      single,
      partitions: 1,
      stages: [
        {
          ...(plan.stages[4] as QueryPlan['stages'][number]),
          id: 0,
          requires: ['geo', 'rank'],
          nonDeterministic: 'a LIMIT may take any rows '.repeat(5).trim(),
          estimate: { rows: null, bytes: null },
          operators: ['the whole query'],
        },
      ],
    };
    const lines = explainPlan(whole).split('\n');
    expect(lines[0]).toBe('1 task on one node, DuckDB v1.5.6');
    expect(lines[1]).toMatch(/^not distributed: it is recursive, and so on/);
    expect(lines.some((line) => line.startsWith('│ ! non-deterministic:'))).toBe(true);
    expect(lines).toContain('│ ! needs geo, rank');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(single);
  });
});

describe('a query, analysed', () => {
  test('shows what each stage took, beside what was expected', () => {
    const measures = plan.stages.map(({ id }) =>
      measureOf(id, { workMs: id === 2 ? 6_000 : 1_000 }),
    );
    const lines = explainAnalyze(plan, measures).split('\n');
    expect(lines).toContain('│ = ████████████░░░░░░░░  60 %  6.00 s of work, 812 ms elapsed');
    expect(lines).toContain(
      '│ = 3,000,000 rows in, 1,200 out (estimated 2,500,000), 2.4 MiB written, 512 B fetched',
    );
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });

  test('notes losses, spilling and skew', () => {
    const text = explainAnalyze(plan, [
      measureOf(0, {
        state: 'running',
        tasks: { total: 4, succeeded: 3, recomputed: 2 },
        spilledBytes: 2_097_152,
        partitionBytes: [10, 10, 10, 90],
        elapsedMs: null,
      }),
    ]);
    expect(text).toContain(
      'running, 3 of 4 tasks done, 2 tasks recomputed after a loss, 2.0 MiB spilled to disk, ' +
        'the l',
    );
    expect(text).toContain('│ = not begun');
    expect(text).toContain('100 %  1.00 s of work\n');
  });

  test('says which partition is too large, and what became of it', () => {
    const large = { partition: 3, rows: 1_200_000, bytes: 41_943_040, times: 17.2 };
    const skewed = [
      { ...large, tasks: 2, stage: 0 },
      { ...large, partition: 1, times: null, tasks: 1, stage: 1 },
      { ...large, partition: 2, tasks: 1, stage: null },
    ];
    const grouping = {
      ...{ partitions: 4, tasks: 4, bytes: 52_428_800, targetBytes: 67_108_864, slots: 4 },
      skewed,
    };
    const lines = explainAnalyze(plan, [measureOf(2, { grouping })]).split('\n');
    const at = lines.findIndex((line) => line.includes('4 partitions of 50.0 MiB read by 4 tasks'));
    expect(lines.slice(at + 1, at + 4)).toEqual([
      '│ = partition 3 has 1,200,000 rows in 40.0 MiB, 17.2 x the median: split by stage 0 among 2 tasks',
      '│ = partition 1 has 1,200,000 rows in 40.0 MiB: splitting saves nothing',
      '│ = partition 2 has 1,200,000 rows in 40.0 MiB, 17.2 x the median: cannot be split',
    ]);
  });
});

describe('figures', () => {
  test.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_024, '1.0 KiB'],
    [150_000, '146 KiB'],
    [3 * 1024 ** 3, '3.0 GiB'],
  ])('%i bytes are %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });

  test.each([
    [1.234, '1.2 ms'],
    [812, '812 ms'],
    [1_500, '1.50 s'],
    [42_000, '42.0 s'],
    [125_000, '2 min 5 s'],
  ])('%f ms are %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test('counts have commas', () => {
    expect([0, 999, 1_000, 1_234_567].map(countText)).toEqual(['0', '999', '1,000', '1,234,567']);
  });
});
