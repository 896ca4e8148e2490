/** Random aggregate and window calls, of which any right engine gives the same value. */
import type { Dice } from './dice.ts';
import type { Expressions } from './expressions.ts';
import { columnsOf, firmColumns } from './scope.ts';
import type { ColumnRef, Kind, Scope } from './scope.ts';

interface Call {
  readonly sql: string;
  readonly kind: Kind;
}

export function aggregate(dice: Dice, scope: Scope, expressions: Expressions): Call {
  const call = bareAggregate(dice, scope, expressions);
  if (!dice.chance(15) || call.sql === 'count(*)') return call;
  return { ...call, sql: `${call.sql} FILTER (WHERE ${expressions.predicate(scope, 1)})` };
}

function bareAggregate(dice: Dice, scope: Scope, expressions: Expressions): Call {
  const value = (kind: Kind): string => {
    const columns = columnsOf(scope, kind);
    return columns.length > 0 && dice.chance(60)
      ? dice.pick(columns)
      : expressions.of(kind, scope, 1);
  };
  // DuckDB refuses to order by a constant.
  const ordered = (kind: Kind): string => {
    const item = value(kind);
    return scope.columns.some(({ sql }) => item.includes(sql)) ? item : `nullif(${item}, NULL)`;
  };
  const number = dice.pick(['integer', 'float', 'decimal'] as const);
  const any = dice.pick(['integer', 'float', 'decimal', 'text', 'date'] as const);
  switch (dice.below(14)) {
    case 0:
      return { sql: 'count(*)', kind: 'integer' };
    case 1:
      return { sql: `count(${value(any)})`, kind: 'integer' };
    case 2:
    case 3:
      return { sql: `sum(${value(number)})`, kind: number };
    case 4:
      return { sql: `min(${value(any)})`, kind: any };
    case 5:
      return { sql: `max(${value(any)})`, kind: any };
    case 6:
      return { sql: `avg(${value(number)})`, kind: 'rough' };
    case 7:
      return { sql: `count(DISTINCT ${value(any)})`, kind: 'integer' };
    case 8:
      return { sql: `sum(DISTINCT ${value('integer')})`, kind: 'integer' };
    case 9:
      return { sql: `${dice.pick(['bool_and', 'bool_or'])}(${value('flag')})`, kind: 'flag' };
    case 10:
      return { sql: `${dice.pick(['var_pop', 'stddev_samp'])}(${value('float')})`, kind: 'rough' };
    case 11:
      return { sql: `median(${value('integer')})`, kind: 'rough' };
    case 12: {
      const item = ordered('integer');
      return { sql: `list(${item} ORDER BY ${item})`, kind: 'list' };
    }
    default: {
      const item = ordered('text');
      return { sql: `string_agg(${item}, ',' ORDER BY ${item})`, kind: 'text' };
    }
  }
}

export function windowCall(dice: Dice, scope: Scope, expressions: Expressions): Call {
  const by = dice.some(partitionColumns(scope), dice.pick([0, 1, 1, 1, 2])).map(({ sql }) => sql);
  const partition = by.length === 0 ? '' : `PARTITION BY ${by.join(', ')}`;
  const wanted = expressions.of(dice.pick(['integer', 'float', 'date'] as const), scope, 1);
  // DuckDB takes a constant out of the order, and its `dense_rank() OVER ()` now and then ends the process.
  const isConstant = !scope.columns.some(({ sql }) => wanted.includes(sql));
  const key = isConstant ? dice.pick(scope.columns).sql : wanted;
  const way = dice.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']);
  if (scope.unique !== null && dice.chance(50)) {
    const over = `OVER (${partition} ORDER BY ${key}${way}, ${scope.unique}`;
    return totallyOrdered(dice, scope, over);
  }
  // Rows that are equal in the order are in the same frame: it does not matter which comes first.
  const order = dice.chance(60) ? ` ORDER BY ${key}${way}` : '';
  if (order !== '' && dice.chance(40))
    return {
      sql: `${dice.pick(['rank', 'dense_rank'])}() OVER (${partition}${order})`,
      kind: 'integer',
    };
  const number = dice.pick(['integer', 'float', 'decimal'] as const);
  const value = expressions.of(number, scope, 1);
  const [call, kind] = dice.pick([
    ...([
      ['count(*)', 'integer'],
      [`sum(${value})`, number],
      [`min(${value})`, number],
    ] as const),
    ...([
      [`max(${value})`, number],
      [`avg(${value})`, 'rough'],
    ] as const),
  ]);
  return { sql: `${call} OVER (${partition}${order})`, kind };
}

/** Calls that depend on which row comes next: the order has a unique last key. */
function totallyOrdered(dice: Dice, scope: Scope, over: string): Call {
  const column = dice.pick(firmColumns(scope));
  const frame = `ROWS BETWEEN ${dice.below(3)} PRECEDING AND ${dice.pick(['CURRENT ROW', '2 FOLLOWING'])}`;
  const calls: readonly Call[] = [
    { sql: `row_number() ${over})`, kind: 'integer' },
    { sql: `lag(${column.sql}) ${over})`, kind: column.kind },
    { sql: `lead(${column.sql}, ${1 + dice.below(3)}) ${over})`, kind: column.kind },
    { sql: `first_value(${column.sql}) ${over})`, kind: column.kind },
    { sql: `count(${column.sql}) ${over} ${frame})`, kind: 'integer' },
    { sql: `ntile(${2 + dice.below(4)}) ${over})`, kind: 'integer' },
  ];
  return dice.pick(calls);
}

function partitionColumns(scope: Scope): readonly ColumnRef[] {
  return firmColumns(scope).filter(({ kind }) => kind !== 'float');
}
