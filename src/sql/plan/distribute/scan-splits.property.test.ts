import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FileRange, PinnedFile } from '../physical/table.ts';
import { rowRanges, wholeFiles } from './scan-splits.ts';

function file(at: number, groups: readonly number[]): PinnedFile {
  const rows = groups.reduce((sum, group) => sum + group, 0);
  return { path: `/f${at}`, bytes: rows * 10, mtimeNs: '5', footer: `h${at}`, rows, groups };
}

const files = fc
  .array(fc.array(fc.nat(5_000), { maxLength: 8 }), { minLength: 1, maxLength: 6 })
  .map((list) => list.map((groups, at) => file(at, groups)));

/** Which rows a range stands for, as the rows of the whole table. */
function span(range: FileRange, all: readonly PinnedFile[]): readonly [number, number] {
  const at = all.findIndex(({ path }) => path === range.path);
  const before = all.slice(0, at).reduce((sum, { rows }) => sum + (rows ?? 0), 0);
  return [before + (range.from ?? 0), before + (range.to ?? range.rows ?? 0)];
}

describe('row ranges', () => {
  test('have every row exactly once, in order, for as many tasks as were asked for', () => {
    fc.assert(
      fc.property(files, fc.integer({ min: 1, max: 20 }), (all, count) => {
        const lists = rowRanges(all, count);
        expect(lists).toHaveLength(count);
        let next = 0;
        for (const range of lists.flat()) {
          const [from, to] = span(range, all);
          expect(from).toBe(next);
          expect(to).toBeGreaterThan(from);
          next = to;
        }
        expect(next).toBe(all.reduce((sum, { rows }) => sum + (rows ?? 0), 0));
      }),
    );
  });

  test('have every row exactly once with any cuts, also beyond the end of the table', () => {
    const ascending = fc
      .array(fc.nat(60_000), { maxLength: 9 })
      .map((all) => all.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(files, ascending, (all, cuts) => {
        const total = all.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
        const lists = rowRanges(all, cuts.length + 1, cuts);
        expect(lists).toHaveLength(cuts.length + 1);
        const spans = lists.map((list) => list.map((range) => span(range, all)));
        let next = 0;
        for (const [from, to] of spans.flat()) {
          expect(from).toBe(next);
          expect(to).toBeGreaterThan(from);
          next = to;
        }
        expect(next).toBe(total);
        for (const [task, [first]] of spans.entries())
          if (first !== undefined) expect(first[0]).toBe(task === 0 ? 0 : cuts[task - 1]);
      }),
    );
  });

  test('have about as many rows each', () => {
    fc.assert(
      fc.property(files, fc.integer({ min: 1, max: 20 }), (all, count) => {
        const total = all.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
        for (const list of rowRanges(all, count)) {
          const rows = list
            .map((range) => span(range, all))
            .reduce((sum, [from, to]) => sum + to - from, 0);
          // Each of its two ends may have moved by an eighth, and is a whole row.
          expect(Math.abs(rows - total / count)).toBeLessThanOrEqual((total / count) * 0.25 + 1);
        }
      }),
    );
  });

  test('end with row groups where there are enough of them', () => {
    const groups = Array.from({ length: 40 }, () => 1_000);
    const lists = rowRanges([file(0, groups)], 3);
    expect(lists.map(([range]) => [range?.from, range?.to])).toEqual([
      [0, 13_000],
      [13_000, 27_000],
      [27_000, 40_000],
    ]);
  });

  test('split a row group where there are too few', () => {
    const lists = rowRanges([file(0, [900])], 2);
    expect(lists.map(([range]) => [range?.from, range?.to])).toEqual([
      [0, 450],
      [450, 900],
    ]);
  });

  test('are whole files without bounds where a task has all of one', () => {
    const all = [file(0, [500]), file(1, [500])];
    expect(rowRanges(all, 2)).toEqual(wholeFiles(all).map((range) => [range]));
    expect(wholeFiles(all)[0]).toEqual({
      ...{ path: '/f0', bytes: 5_000, mtimeNs: '5', footer: 'h0', rows: 500 },
      ...{ from: null, to: null },
    });
  });

  test('of no rows are no ranges', () => {
    expect(rowRanges([file(0, [])], 3)).toEqual([[], [], []]);
  });
});
