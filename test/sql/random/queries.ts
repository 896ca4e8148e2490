/**
 * Random queries: joins of all kinds, groups, windows, subqueries, set operations, common tables, orders and limits. A
 * seed always gives the same query. Nearly all of them are valid; the few that DuckDB refuses are counted by whoever
 * runs them.
 */
import type { Leeway } from '../oracle.ts';
import { Clauses } from './clauses.ts';
import type { Made } from './clauses.ts';
import { Dice } from './dice.ts';
import { FIRM } from './scope.ts';

export interface RandomQuery {
  readonly seed: number;
  readonly sql: string;
  readonly leeway: Leeway;
}

/** Sums that come out at nothing leave the last digits of what was added up. */
const NOTHING = 1e-7;

export function randomQuery(seed: number): RandomQuery {
  const dice = new Dice(seed);
  const clauses = new Clauses(dice);
  const made = clauses.query(3);
  const { sql, order } = ordered(made, dice);
  return { seed, sql: clauses.withTables(sql), leeway: { order, floor: NOTHING } };
}

/** An order over all columns, so that a LIMIT keeps the same rows; none where a column is only looked at. */
function ordered(made: Made, dice: Dice): { sql: string; order: readonly number[] } {
  const isFirm = made.kinds.every((kind) => FIRM.includes(kind));
  if (!isFirm || !dice.chance(45)) return { sql: made.sql, order: [] };
  const order = dice.some(
    made.kinds.map((_, at) => at + 1),
    made.kinds.length,
  );
  const keys = order.map(
    (position) =>
      `${position}${dice.pick(['', ' DESC', ''])}${dice.pick(['', ' NULLS FIRST', ' NULLS LAST'])}`,
  );
  const limit = dice.chance(60) ? ` LIMIT ${dice.below(40)}` : '';
  const offset = limit !== '' && dice.chance(30) ? ` OFFSET ${dice.below(12)}` : '';
  const from = `SELECT * FROM (${made.sql}) result`;
  return { sql: `${from} ORDER BY ${keys.join(', ')}${limit}${offset}`, order };
}
