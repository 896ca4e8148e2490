/** The clauses of random queries: FROM with joins, SELECT in its forms, set operations, subqueries, common tables. */
import type { Dice } from './dice.ts';
import { Expressions, SQL_TYPES } from './expressions.ts';
import { aggregate, windowCall } from './calls.ts';
import { anyTable, columnsOf, FIRM, firmColumns } from './scope.ts';
import type { ColumnRef, Kind, Scope } from './scope.ts';

/** A query with the kinds of its columns, which are named `c0`, `c1`, ... */
export interface Made {
  readonly sql: string;
  readonly kinds: readonly Kind[];
  readonly rows: number;
}

interface From extends Scope {
  readonly sql: string;
}

/** More rows than this are not multiplied any further. */
const ROWS_MAX = 3_000;

export class Clauses {
  readonly #dice: Dice;
  readonly #plain: Expressions;
  readonly #rich: Expressions;
  readonly #tables: { readonly name: string; readonly sql: string; readonly made: Made }[] = [];
  #names = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.#plain = new Expressions(dice, null);
    this.#rich = new Expressions(dice, {
      scalar: (kind, scope) => this.#scalar(kind, scope),
      predicate: (scope) => this.#subqueryPredicate(scope),
    });
  }

  /** In front of the query: the common tables that it uses. */
  withTables(sql: string): string {
    if (this.#tables.length === 0) return sql;
    return `WITH ${this.#tables.map((table) => table.sql).join(', ')} ${sql}`;
  }

  query(depth: number): Made {
    const dice = this.#dice;
    if (depth > 1 && dice.chance(20)) this.#addTable(depth - 1);
    return depth > 0 && dice.chance(18) ? this.#setOperation(depth) : this.select(depth, null);
  }

  /** With columns of these kinds, or of any. */
  select(depth: number, kinds: readonly Kind[] | null): Made {
    const dice = this.#dice;
    const from = this.from(depth, null);
    const where = dice.chance(50) ? ` WHERE ${this.#rich.predicate(from, dice.below(3))}` : '';
    const source = `${from.sql}${where}`;
    const roll = dice.below(100);
    if (kinds === null && roll < 40) return this.#grouped(from, source);
    if (kinds === null && roll < 58) return this.#windowed(from, source);
    const wanted = kinds ?? this.#anyKinds(1 + dice.below(4));
    const items = wanted.map((kind) => this.#typed(kind, from));
    const isDistinct = wanted.every((kind) => FIRM.includes(kind)) && dice.chance(20);
    const sql = `SELECT ${isDistinct ? 'DISTINCT ' : ''}${named(items)} FROM ${source}`;
    return { sql, kinds: wanted, rows: from.rows };
  }

  /** Tables, subqueries and common tables, joined. */
  from(depth: number, outer: Scope | null, joinsMax = 2): From {
    const dice = this.#dice;
    let all = this.#item(depth, outer);
    const joins = dice.chance(40) ? 0 : 1 + dice.below(joinsMax);
    for (let at = 0; at < joins && all.rows < ROWS_MAX / 2; at += 1) all = this.#joined(all, depth);
    return all;
  }

  #item(depth: number, outer: Scope | null, rowsMax = Infinity): From {
    const dice = this.#dice;
    const alias = `t${this.#names++}`;
    const refs = (names: readonly (readonly [string, Kind])[]): readonly ColumnRef[] =>
      names.map(([name, kind]) => ({ sql: `${alias}.${name}`, kind }));
    const table = this.#tables.length > 0 && dice.chance(35) ? dice.pick(this.#tables) : null;
    if (table !== null && table.made.rows <= rowsMax) {
      const columns = refs(table.made.kinds.map((kind, at) => [`c${at}`, kind]));
      const { rows } = table.made;
      return { sql: `${table.name} ${alias}`, columns, unique: null, outer, rows };
    }
    if (depth > 1 && dice.chance(25)) {
      const made = this.query(depth - 1);
      const columns = refs(made.kinds.map((kind, at) => [`c${at}`, kind]));
      if (made.rows <= rowsMax)
        return { sql: `(${made.sql}) ${alias}`, columns, unique: null, outer, rows: made.rows };
    }
    const base = anyTable(dice, rowsMax);
    const sql = `${base.name} ${alias}`;
    return { sql, columns: refs(base.columns), unique: `${alias}.id`, outer, rows: base.rows };
  }

  #joined(left: From, depth: number): From {
    const dice = this.#dice;
    const room = ROWS_MAX / Math.max(1, left.rows);
    const right = this.#item(depth - 1, left.outer, Math.max(40, room * 8));
    const kind = dice.pick(JOINS);
    const both: From = {
      sql: '',
      columns: [...left.columns, ...right.columns],
      unique: null,
      outer: left.outer,
      rows: 0,
    };
    const keys = this.#equalities(left, right);
    if (keys.length === 0 || dice.chance(6)) return this.#product(left, right, both);
    const extra = dice.chance(25) ? [this.#plain.predicate({ ...both, outer: null }, 1)] : [];
    const on = [...keys, ...extra].join(' AND ');
    // A key has about so many different values.
    const apart = keys.every((key) => key.includes('.k ')) ? 20 : 5;
    const sql = `${left.sql} ${kind} ${right.sql} ON ${on}`;
    if (kind === 'SEMI JOIN' || kind === 'ANTI JOIN') return { ...left, sql };
    return {
      ...both,
      sql,
      rows: Math.max(left.rows, right.rows, (left.rows * right.rows) / apart),
    };
  }

  #equalities(left: From, right: From): readonly string[] {
    const dice = this.#dice;
    const numbers: readonly Kind[] = ['integer', 'decimal', 'float'];
    const pairs = firmColumns(left).flatMap((one) =>
      firmColumns(right)
        .filter(
          ({ kind }) => kind === one.kind || (numbers.includes(kind) && numbers.includes(one.kind)),
        )
        .filter(({ kind }) => kind !== 'flag')
        .map((two) => [one.sql, two.sql] as const),
    );
    // Columns that are made to be joined on; others seldom have a value in common.
    const keys = pairs.filter((pair) => pair.every((sql) => /\.([kgj]|c\d+)$/.test(sql)));
    const chosen = keys.length > 0 && dice.chance(75) ? keys : pairs;
    return dice
      .some(chosen, dice.chance(80) ? 1 : 2)
      .map(([one, two]) => `${one} ${dice.chance(90) ? '=' : 'IS NOT DISTINCT FROM'} ${two}`);
  }

  /** Without a key; by a range where the two are large. */
  #product(left: From, right: From, both: From): From {
    const rows = left.rows * right.rows;
    if (rows <= ROWS_MAX) return { ...both, sql: `${left.sql} CROSS JOIN ${right.sql}`, rows };
    const on = this.#plain.predicate({ ...both, outer: null }, 0);
    const few = `(SELECT * FROM ${right.sql} ORDER BY ALL LIMIT 5)`;
    const alias = right.sql.slice(right.sql.lastIndexOf(' ') + 1);
    return { ...both, sql: `${left.sql} LEFT JOIN ${few} ${alias} ON ${on}`, rows: left.rows * 5 };
  }

  #grouped(from: From, source: string): Made {
    const dice = this.#dice;
    const keys = Array.from({ length: dice.pick([0, 1, 1, 1, 2]) }, () => {
      const kind = dice.pick(FIRM);
      const columns = columnsOf(from, kind);
      const sql =
        columns.length > 0 && dice.chance(70) ? dice.pick(columns) : this.#plain.of(kind, from, 1);
      return { sql, kind };
    }).filter(({ sql }) => from.columns.some((column) => sql.includes(column.sql)));
    const calls = Array.from({ length: 1 + dice.below(3) }, () =>
      aggregate(dice, from, this.#plain),
    );
    const items = [...keys, ...calls];
    const list = keys.map(({ sql }) => sql);
    const set = dice.pick(['', '', '', '', 'ROLLUP', 'CUBE']);
    const by = list.length === 0 ? '' : ` GROUP BY ${set === '' ? '' : set} ${inSet(list, set)}`;
    const limit = 'HAVING count(*)';
    const having = list.length > 0 && dice.chance(20) ? ` ${limit} > ${dice.below(6)}` : '';
    const sql = `SELECT ${named(items.map((item) => item.sql))} FROM ${source}${by}${having}`;
    const rows = list.length === 0 ? 1 : Math.min(from.rows, 40 ** list.length);
    return { sql, kinds: items.map(({ kind }) => kind), rows };
  }

  #windowed(from: From, source: string): Made {
    const dice = this.#dice;
    const plain = this.#anyKinds(1 + dice.below(2)).map((kind) => ({
      sql: this.#typed(kind, from),
      kind,
    }));
    const calls = Array.from({ length: 1 + dice.below(2) }, () =>
      windowCall(dice, from, this.#plain),
    );
    const items = [...plain, ...calls];
    const sql = `SELECT ${named(items.map((item) => item.sql))} FROM ${source}`;
    return { sql, kinds: items.map(({ kind }) => kind), rows: from.rows };
  }

  #setOperation(depth: number): Made {
    const dice = this.#dice;
    const kinds = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(FIRM));
    const [left, right] = [this.select(depth - 1, kinds), this.select(depth - 1, kinds)];
    const word = `${dice.pick(['UNION', 'UNION', 'INTERSECT', 'EXCEPT'])}${dice.pick(['', ' ALL'])}`;
    const rows = left.rows + right.rows;
    return { sql: `(${left.sql}) ${word} (${right.sql})`, kinds, rows };
  }

  #addTable(depth: number): void {
    const made = this.select(depth, null);
    const name = `w${this.#tables.length}`;
    const how = this.#dice.pick(['AS', 'AS MATERIALIZED', 'AS NOT MATERIALIZED']);
    this.#tables.push({ name, sql: `${name} ${how} (${made.sql})`, made });
  }

  /** An aggregate without groups: always one row. */
  #scalar(kind: Kind, scope: Scope): string {
    const from = this.from(1, this.#dice.chance(50) ? scope : null, 1);
    const wanted = kind === 'rough' ? 'float' : kind;
    const value = this.#plain.of(wanted, from, 1);
    const where = this.#dice.chance(70) ? ` WHERE ${this.#plain.predicate(from, 1)}` : '';
    const call = wanted === 'list' ? `list_sort(list(${value}))[1]` : `max(${value})`;
    return `(SELECT ${call} FROM ${from.sql}${where})`;
  }

  #subqueryPredicate(scope: Scope): string {
    const dice = this.#dice;
    const from = this.from(1, dice.chance(60) ? scope : null, 1);
    const where = dice.chance(75) ? ` WHERE ${this.#correlated(from)}` : '';
    if (dice.chance(45))
      return `(${dice.pick(['', 'NOT '])}EXISTS (SELECT 1 FROM ${from.sql}${where}))`;
    const kind = dice.pick(FIRM);
    const [outside, inside] = [this.#plain.of(kind, scope, 1), this.#plain.of(kind, from, 1)];
    const word = dice.pick(['IN', 'IN', 'NOT IN', '> ALL', '<= ANY']);
    if (kind === 'flag' && /A/.test(word))
      return `(${outside} IN (SELECT ${inside} FROM ${from.sql}${where}))`;
    return `(${outside} ${word} (SELECT ${inside} FROM ${from.sql}${where}))`;
  }

  /** Mostly by an equality with the query around it. */
  #correlated(from: From): string {
    const dice = this.#dice;
    const own = this.#plain.predicate(from, 1);
    if (from.outer === null) return own;
    const kind = dice.pick(['integer', 'text', 'decimal'] as const);
    const [inner, outer] = [columnsOf(from, kind), columnsOf(from.outer, kind)];
    if (inner.length === 0 || outer.length === 0) return own;
    const equal = `${dice.pick(inner)} = ${dice.pick(outer)}`;
    return dice.chance(50) ? equal : `${equal} AND ${own}`;
  }

  #anyKinds(count: number): readonly Kind[] {
    return Array.from({ length: count }, () => {
      return this.#dice.chance(6)
        ? this.#dice.pick(['rough', 'list'] as const)
        : this.#dice.pick(FIRM);
    });
  }

  /** A column, or an expression with a cast where its type has to be known. */
  #typed(kind: Kind, from: From): string {
    const columns = columnsOf(from, kind);
    if (columns.length > 0 && this.#dice.chance(55)) return this.#dice.pick(columns);
    const sql = this.#rich.of(kind, from, 2);
    return kind === 'list' ? `(${sql})::${SQL_TYPES.list}` : sql;
  }
}

const JOINS = [
  ...['JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'],
  ...['SEMI JOIN', 'ANTI JOIN'],
] as const;

function named(items: readonly string[]): string {
  return items.map((item, at) => `${item} AS c${at}`).join(', ');
}

function inSet(list: readonly string[], set: string): string {
  return set === '' ? list.join(', ') : `(${list.join(', ')})`;
}
