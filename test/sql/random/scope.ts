/** What an expression may name: columns with their types, and the tables of the tests that have them. */
import type { Dice } from './dice.ts';

/**
 * The kinds of values that are distinguished. A `float` is exact: halves and quarters, added and subtracted, so that it
 * may be a key. A `rough` one results from a division; in which order it was added up shows in its last digits, so it is only
 * looked at. A `list` is only looked at as well.
 */
export type Kind = 'integer' | 'decimal' | 'float' | 'text' | 'date' | 'flag' | 'rough' | 'list';

/** Kinds that may be compared, grouped by and joined on. */
export const FIRM: readonly Kind[] = ['integer', 'decimal', 'float', 'text', 'date', 'flag'];

export interface ColumnRef {
  readonly sql: string;
  readonly kind: Kind;
}

export interface Scope {
  readonly columns: readonly ColumnRef[];
  /** A column without two equal values, if there is one: what makes an order total. */
  readonly unique: string | null;
  /** Columns of the queries around this one; null where they must not be used. */
  readonly outer: Scope | null;
  /** About how many rows; keeps products small. */
  readonly rows: number;
}

const COLUMNS: readonly (readonly [string, Kind])[] = [
  ...([
    ['id', 'integer'],
    ['k', 'integer'],
    ['g', 'text'],
    ['x', 'float'],
  ] as const),
  ...([
    ['n', 'decimal'],
    ['d', 'date'],
    ['f', 'flag'],
  ] as const),
];

export interface BaseTable {
  readonly name: string;
  readonly rows: number;
  readonly columns: readonly (readonly [string, Kind])[];
}

const keyed = (name: string, rows: number, k: Kind = 'integer'): BaseTable => ({
  name,
  rows,
  columns: COLUMNS.map(([column, kind]) => [column, column === 'k' ? k : kind]),
});

const BASE_TABLES: readonly BaseTable[] = [
  ...[keyed('alpha', 160), keyed('beta', 110), keyed('gamma', 37, 'decimal'), keyed('void', 0)],
  {
    name: 'nulls',
    rows: 400,
    columns: [
      ...([
        ['id', 'integer'],
        ['k', 'integer'],
        ['j', 'integer'],
        ['v', 'float'],
      ] as const),
      ...([
        ['m', 'decimal'],
        ['s', 'text'],
        ['b', 'flag'],
        ['d', 'date'],
      ] as const),
      ['none', 'integer'],
    ],
  },
];

/** The empty one comes seldom: what is joined with it says little. */
export function anyTable(dice: Dice, rowsMax = Infinity): BaseTable {
  const fitting = BASE_TABLES.filter(({ rows }) => rows <= rowsMax);
  const filled = fitting.filter(({ rows }) => rows > 0);
  return dice.pick(dice.chance(4) || filled.length === 0 ? fitting : filled);
}

export function columnsOf(scope: Scope, kind: Kind): readonly string[] {
  return scope.columns.filter((column) => column.kind === kind).map(({ sql }) => sql);
}

export function firmColumns(scope: Scope): readonly ColumnRef[] {
  return scope.columns.filter(({ kind }) => FIRM.includes(kind));
}
