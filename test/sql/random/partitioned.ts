/**
 * Two queries that must have the same answer, whatever the data: rows for which a condition is true, false and
 * unknown add up to all rows. Neither needs DuckDB's own answer, so what both get wrong in the same way still shows.
 */
import { Clauses } from './clauses.ts';
import { Dice } from './dice.ts';
import { Expressions } from './expressions.ts';
import { columnsOf, firmColumns } from './scope.ts';

export interface QueryPair {
  readonly seed: number;
  readonly form: 'rows' | 'distinct' | 'groups' | 'totals' | 'join';
  readonly whole: string;
  readonly parts: string;
}

const FORMS: readonly QueryPair['form'][] = ['rows', 'distinct', 'groups', 'totals', 'join'];

export function queryPair(seed: number): QueryPair {
  const dice = new Dice(seed);
  const from = new Clauses(dice).from(2, null);
  const condition = new Expressions(dice, null).predicate(from, 2);
  const thirds = [condition, `(NOT ${condition})`, `(${condition} IS NULL)`];
  const some = dice.some(firmColumns(from), 1 + dice.below(3)).map(({ sql }) => sql);
  const columns = some.length > 0 ? some : ['1'];
  const named = columns.map((sql, at) => `${sql} AS c${at}`).join(', ');
  const names = columns.map((_, at) => `c${at}`).join(', ');
  const form = dice.pick(FORMS);
  const split = (select: string, more = '', word = ' UNION ALL '): string =>
    thirds.map((third) => `(${select} FROM ${from.sql} WHERE ${third}${more})`).join(word);
  switch (form) {
    case 'rows':
    case 'join':
      return {
        ...{ seed, form, whole: `SELECT ${named} FROM ${from.sql}` },
        parts: split(`SELECT ${named}`),
      };
    case 'distinct':
      return {
        ...{ seed, form, whole: `SELECT DISTINCT ${named} FROM ${from.sql}` },
        parts: split(`SELECT ${named}`, '', ' UNION '),
      };
    case 'groups': {
      const by = columns.join(', ');
      const inner = split(`SELECT ${named}, count(*) AS n`, ` GROUP BY ${by}`);
      return {
        ...{ seed, form, whole: `SELECT ${named}, count(*) AS n FROM ${from.sql} GROUP BY ${by}` },
        parts: `SELECT ${names}, sum(n)::BIGINT AS n FROM (${inner}) GROUP BY ${names}`,
      };
    }
    case 'totals': {
      const number = columnsOf(from, 'integer')[0] ?? '1';
      const calls = `count(*) AS n, sum(${number})::HUGEINT AS s, min(${number}) AS lo, max(${number}) AS hi`;
      return {
        ...{ seed, form, whole: `SELECT ${calls} FROM ${from.sql}` },
        parts: `SELECT sum(n)::BIGINT AS n, sum(s)::HUGEINT AS s, min(lo) AS lo, max(hi) AS hi FROM (${split(`SELECT ${calls}`)})`,
      };
    }
  }
}
