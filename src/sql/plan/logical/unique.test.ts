import { describe, expect, test } from 'vitest';
import type { Aggregate, Join, Relation } from './relation.ts';
import { BIGINT, INTEGER } from './type.ts';
import { hasOneRow, isUniqueBy } from './unique.ts';

const scan: Relation = {
  kind: 'scan',
  reader: 'read_parquet',
  files: ['f'],
  table: null,
  names: ['a', 'b'],
  types: [INTEGER, INTEGER],
  columns: [0, 1],
  filters: [],
  keep: [0, 1],
  hasRowPlaces: false,
  output: [INTEGER, INTEGER],
  rows: null,
};
const column = (index: number) => ({ kind: 'column', index, type: INTEGER }) as const;
const grouped = (...groups: number[]): Aggregate => ({
  kind: 'aggregate',
  input: scan,
  groups: groups.map(column),
  sets: [groups.map((_, i) => i)],
  calls: [{ name: 'count', args: [], distinct: false, filter: null, order: [], type: BIGINT }],
  grouping: [],
  output: [...groups.map(() => INTEGER), BIGINT],
  rows: null,
});
const joined = (type: Join['type'], left: Relation, right: Relation): Join => ({
  kind: 'join',
  type,
  left,
  right,
  conditions: [{ left: column(0), right: column(0), comparison: 'IS NOT DISTINCT FROM' }],
  predicate: null,
  errorOnMany: false,
  output: [...left.output, ...right.output],
  rows: null,
});
const by = (relation: Relation, ...columns: number[]): boolean =>
  isUniqueBy(relation, new Set(columns));

describe('columns that identify rows', () => {
  test('the groups of an aggregate, all of them', () => {
    expect(by(grouped(0, 1), 0, 1)).toBe(true);
    expect(by(grouped(0, 1), 0)).toBe(false);
    expect(by(grouped(0), 0, 1)).toBe(true);
  });

  test('a total has one row, grouping sets repeat groups', () => {
    expect(by(grouped())).toBe(true);
    expect(by({ ...grouped(0), sets: [[0], []] }, 0)).toBe(false);
  });

  test('a table promises nothing', () => {
    expect(by(scan, 0, 1)).toBe(false);
  });

  test('columns are followed through a projection and a filter', () => {
    const input = grouped(0);
    const output = [BIGINT, INTEGER];
    const project: Relation = {
      kind: 'project',
      input: { kind: 'filter', input, conditions: [], output: input.output, rows: null },
      expressions: [{ ...column(1), type: BIGINT }, column(0)],
      output,
      rows: null,
    };
    expect(by(project, 1)).toBe(true);
    expect(by(project, 0)).toBe(false);
  });

  test('DISTINCT by all its columns, DISTINCT ON by its own', () => {
    const distinct: Relation = {
      kind: 'distinct',
      input: scan,
      on: null,
      order: [],
      output: scan.output,
      rows: null,
    };
    expect(by(distinct, 0, 1)).toBe(true);
    expect(by(distinct, 0)).toBe(false);
    expect(by({ ...distinct, on: [column(1)] }, 1)).toBe(true);
  });

  test('a limit of one row', () => {
    const limit: Relation = {
      kind: 'limit',
      input: scan,
      limit: 1,
      offset: 0,
      output: [],
      rows: 1,
    };
    expect(by(limit)).toBe(true);
    expect(by({ ...limit, limit: 2 })).toBe(false);
  });

  test('a join in which each row meets at most one other', () => {
    expect(by(joined('inner', grouped(0), grouped(0)), 0)).toBe(true);
    expect(by(joined('inner', grouped(0), grouped(0)), 2)).toBe(true);
    expect(by(joined('left', grouped(0), grouped(0)), 0)).toBe(true);
    expect(by(joined('left', grouped(0), grouped(0)), 2)).toBe(false);
    expect(by(joined('inner', grouped(0), scan), 0)).toBe(false);
    expect(by(joined('full', grouped(0), grouped(0)), 0)).toBe(false);
    expect(by(joined('semi', grouped(0), scan), 0)).toBe(true);
  });
});

test('a total has one row, with its grouping set or without any; groups, and two totals, may have more', () => {
  expect(hasOneRow(grouped())).toBe(true);
  expect(hasOneRow({ ...grouped(), sets: [] })).toBe(true);
  expect(hasOneRow({ ...grouped(), sets: [[], []] })).toBe(false);
  expect(hasOneRow(grouped(0))).toBe(false);
  expect(hasOneRow({ ...grouped(0), sets: [] })).toBe(false);
  expect(hasOneRow(joined('inner', grouped(), grouped()))).toBe(true);
  expect(hasOneRow(joined('inner', grouped(), scan))).toBe(false);
});
