import { expect, test } from 'vitest';
import { COLUMNS, column, scanOf } from '../../../../test/sql/plan/random-relation.ts';
import type { Expression } from '../logical/expression.ts';
import type { Aggregate, Join, Relation, With } from '../logical/relation.ts';
import { BIGINT } from '../logical/type.ts';
import { WantedKeys, wantedKeys } from './wanted-keys.ts';

function columnOf({ output }: Relation, index: number): Expression {
  return { kind: 'column', index, type: output[index] ?? BIGINT };
}

/** By these columns of what is below; each call is another relation. */
function grouped(by: readonly number[], input: Relation = scanOf('large')): Aggregate {
  return {
    ...{ kind: 'aggregate', input, calls: [], grouping: [], rows: null },
    groups: by.map((at) => columnOf(input, at)),
    sets: [by.map((_, at) => at)],
    output: by.map((at) => input.output[at] ?? BIGINT),
  };
}

function joined(left: Relation, right: Relation, pairs: readonly (readonly number[])[]): Join {
  return {
    ...{ kind: 'join', type: 'inner', left, right, predicate: null, errorOnMany: true },
    conditions: pairs.map(([of = 0, to = 0]) => ({
      ...{ left: columnOf(left, of), right: columnOf(right, to), comparison: '=' },
    })),
    output: [...left.output, ...right.output],
    rows: null,
  };
}

function projected(input: Relation, expressions: readonly Expression[]): Relation {
  const output = expressions.map(({ type }) => type);
  return { kind: 'project', input, expressions, output, rows: null };
}

const ONE: Expression = { kind: 'constant', sql: '1', type: BIGINT };

test('sides that are both grouped are wanted by the keys of their join, in the same order', () => {
  const [left, right] = [grouped([0, 1, 2]), grouped([1, 0])];
  const wanted = new WantedKeys(
    joined(left, right, [
      [0, 1],
      [1, 0],
    ]),
  );
  expect(wanted.of(left)).toEqual([0, 1]);
  expect(wanted.of(right)).toEqual([1, 0]);
});

test('a side that is grouped beside one that is not is wanted by nothing', () => {
  const left = grouped([0, 1]);
  expect(new WantedKeys(joined(left, scanOf('other'), [[0, 0]])).of(left)).toBeNull();
});

test('of the keys of a join, those are enough that are wanted above, on both sides', () => {
  const [left, right] = [grouped([0, 1]), grouped([0, 1])];
  const pairs = [
    [0, 0],
    [1, 1],
  ];
  const wanted = new WantedKeys(grouped([1], joined(left, right, pairs)));
  expect(wanted.of(left)).toEqual([1]);
  expect(wanted.of(right)).toEqual([1]);
});

test('a wish goes through columns, and ends where one is computed', () => {
  const [plain, computed] = [grouped([0, 1]), grouped([0, 1])];
  const swapped = projected(plain, [columnOf(plain, 1), columnOf(plain, 0)]);
  expect(new WantedKeys(grouped([0], swapped)).of(plain)).toEqual([1]);
  const counted = projected(computed, [ONE, columnOf(computed, 0)]);
  expect(new WantedKeys(grouped([0], counted)).of(computed)).toBeNull();
});

test('groups are wanted by those of their columns that are in all grouping sets', () => {
  const inner = grouped([0, 1]);
  const both = { ...grouped([0, 1], inner), sets: [[0, 1], [0]] };
  expect(new WantedKeys(both).of(inner)).toBeNull();
  expect(new WantedKeys({ ...both, sets: [[0, 1]] }).of(inner)).toEqual([0, 1]);
});

test('what a total needs is nothing', () => {
  const inner = grouped([0, 1]);
  expect(new WantedKeys(grouped([], inner)).of(inner)).toBeNull();
});

test('a definition is wanted by what all of its readers share', () => {
  const reader = (): Relation => ({ kind: 'ref', cte: 7, output: COLUMNS, rows: null });
  const over = (...by: readonly (readonly number[])[]): With => ({
    ...{ kind: 'with', cte: 7, definition: grouped([0, 1, 2, 3]), output: COLUMNS, rows: null },
    body: {
      ...{ kind: 'set', operation: 'union', all: true, output: COLUMNS, rows: null },
      inputs: by.map((each) => grouped(each, reader())),
    },
  });
  const wantedOf = (made: With): unknown => new WantedKeys(made).of(made.definition);
  expect(wantedOf(over([0, 1], [1, 2]))).toEqual([1]);
  expect(wantedOf(over([0], [1]))).toBeNull();
});

test('the rows of duplicates that are removed together may lie in different inputs', () => {
  const inner = grouped([0, 1]);
  const set = (all: boolean): Relation => {
    const head = { kind: 'set', operation: 'union', all, rows: null } as const;
    return grouped([0], { ...head, inputs: [inner, grouped([0, 1])], output: inner.output });
  };
  expect(new WantedKeys(set(true)).of(inner)).toEqual([0]);
  expect(new WantedKeys(set(false)).of(inner)).toBeNull();
});

test('keys with few values are no keys of an exchange, nor are those that cannot be hashed', () => {
  const columns = COLUMNS.map((_, at) => ({ width: 8, distinct: at === 0 ? 1_000 : 10 }));
  const among = COLUMNS.map((_, at) => column(at));
  expect(wantedKeys([0], among, columns, 4)).toEqual([column(0)]);
  expect(wantedKeys([1], among, columns, 4)).toBeNull();
  expect(wantedKeys([0, 1], among, columns, 4)).toEqual([column(0), column(1)]);
  expect(wantedKeys([0, 9], among, columns, 4)).toBeNull();
  expect(wantedKeys(null, among, columns, 4)).toBeNull();
  const nested = among.map((each) => ({ ...each, type: { ...each.type, id: 'MAP' } }));
  expect(wantedKeys([0], nested, columns, 4)).toBeNull();
});
