import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Cluster, ClusterGroup, PinnedTable } from '../physical/table.ts';
import { RangePartitioning, taskOfValue } from './range-partitioning.ts';
import { valueSpans } from './scan-splits.ts';

/** Groups of 100 rows with `width` values each, one after the other. */
function inOrder(count: number, width = 100, first = 0): readonly ClusterGroup[] {
  return Array.from({ length: count }, (_, at) => {
    const min = first + at * width;
    return { file: at % 3, rows: 100, min, max: min + width - 1 };
  });
}

function tableOf(groups: readonly ClusterGroup[]): {
  readonly table: PinnedTable;
  readonly cluster: Cluster;
} {
  const files = [0, 1, 2].map((at) => {
    const own = groups.filter(({ file }) => file === at).map(({ rows }) => rows);
    const rows = own.reduce((sum, each) => sum + each, 0);
    return { path: `/f${at}`, bytes: 1, mtimeNs: '1', footer: '', rows, groups: own };
  });
  const cluster = { column: 'id', groups };
  const described = {
    format: 'parquet',
    columns: [],
    options: '',
    select: '',
    root: null,
  } as const;
  return { table: { name: 't', files, ...described, clusters: [cluster] }, cluster };
}

describe('a range', () => {
  test('gives each task about as many rows', () => {
    expect(RangePartitioning.of(inOrder(8), 4)?.bounds).toEqual([200, 400, 600]);
    expect(RangePartitioning.of(inOrder(9, 100, -450), 3)?.bounds).toEqual([-150, 150]);
  });

  test('does not exist for rows in random order', () => {
    const anywhere = inOrder(8).map((group) => ({ ...group, min: 0, max: 800 }));
    expect(RangePartitioning.of(anywhere, 4)).toBeNull();
  });

  test('does not exist with fewer row groups than tasks, or without rows', () => {
    expect(RangePartitioning.of(inOrder(3), 4)).toBeNull();
    expect(RangePartitioning.of([], 2)).toBeNull();
  });

  test('does not exist if one value has most of the rows', () => {
    const same = { file: 0, rows: 5_000, min: 400, max: 400 };
    expect(RangePartitioning.of([...inOrder(4), same, ...inOrder(4, 100, 401)], 4)).toBeNull();
  });

  test('uses the bounds of the larger table once two are unified', () => {
    const large = RangePartitioning.of(inOrder(40, 20), 4) as RangePartitioning;
    const small = RangePartitioning.of(inOrder(8), 4) as RangePartitioning;
    expect(large.isSame(small)).toBe(false);
    expect(small.canUnify(large)).toBe(true);
    small.unify(large);
    expect(small.isSame(large)).toBe(true);
    expect(small.bounds).toEqual(large.bounds);
    const third = RangePartitioning.of(inOrder(16, 50), 4) as RangePartitioning;
    third.unify(small);
    expect([third.isSame(large), large.bounds, small.bounds]).toEqual([
      true,
      third.bounds,
      third.bounds,
    ]);
  });

  test('is not unified with one of disjoint values', () => {
    const here = RangePartitioning.of(inOrder(8), 2) as RangePartitioning;
    const there = RangePartitioning.of(inOrder(8, 100, 100_000), 2) as RangePartitioning;
    expect(here.canUnify(there)).toBe(false);
    here.unify(there);
    expect(here.isSame(there)).toBe(false);
  });
});

test('every value is read by one task, from every file that may have it', () => {
  const groups = fc.array(
    fc.record({
      file: fc.nat(2),
      rows: fc.integer({ min: 1, max: 50 }),
      min: fc.integer({ min: -1_000, max: 1_000 }),
      width: fc.nat(200),
    }),
    { minLength: 1, maxLength: 12 },
  );
  const bounds = fc.array(fc.integer({ min: -1_100, max: 1_300 }), { maxLength: 6 });
  fc.assert(
    fc.property(groups, bounds, fc.float({ noNaN: true, min: 0, max: 1 }), (given, some, part) => {
      const own = given.map(({ width, ...group }) => ({ ...group, max: group.min + width }));
      const sorted = some.toSorted((a, b) => a - b);
      const { table, cluster } = tableOf(own);
      const spans = valueSpans(table, table.files, cluster, { column: 0, bounds: sorted });
      expect(spans).toHaveLength(sorted.length + 1);
      for (const { file, min, max } of own) {
        const value = min + Math.floor((max - min) * part);
        const readers = spans.flatMap(({ ranges, span: { from, to, mixed } }, task) => {
          const isBetween = (from === null || value >= from) && (to === null || value < to);
          const isIn = isBetween || !mixed.includes(`/f${file}`);
          return isIn && ranges.some(({ path }) => path === `/f${file}`) ? [task] : [];
        });
        expect(readers).toEqual([taskOfValue(sorted, value)]);
      }
    }),
  );
});

test('files that a scan leaves out are neither read nor counted', () => {
  const { table, cluster } = tableOf(inOrder(6));
  const [, ...files] = table.files;
  const spans = valueSpans(table, files, cluster, { column: 0, bounds: [300] });
  expect(spans.map(({ ranges }) => ranges.map(({ path }) => path))).toEqual([
    ['/f1', '/f2'],
    ['/f1', '/f2'],
  ]);
  expect(spans.map(({ span }) => span.rows)).toEqual([200, 200]);
});
