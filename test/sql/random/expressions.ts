/** Random expressions of a wanted kind over a scope. They never fail, whatever the values are. */
import type { Dice } from './dice.ts';
import { columnsOf, firmColumns } from './scope.ts';
import type { Kind, Scope } from './scope.ts';

/** Makes a subquery for an expression; null where it must not have one. */
export type Subqueries = {
  /** One value of this kind, in parentheses. */
  scalar(kind: Kind, scope: Scope): string;
  /** `EXISTS (...)`, `x IN (...)` and so on. */
  predicate(scope: Scope): string;
} | null;

export class Expressions {
  readonly #dice: Dice;
  readonly #subqueries: Subqueries;

  constructor(dice: Dice, subqueries: Subqueries) {
    this.#dice = dice;
    this.#subqueries = subqueries;
  }

  /** `depth` bounds how far it nests. */
  of(kind: Kind, scope: Scope, depth: number): string {
    const dice = this.#dice;
    if (depth <= 0 || dice.chance(35)) return this.#leaf(kind, scope);
    if (dice.chance(12)) return this.#case(kind, scope, depth);
    if (dice.chance(12)) return this.#coalesce(kind, scope, depth);
    if (this.#subqueries !== null && dice.chance(6)) return this.#subqueries.scalar(kind, scope);
    switch (kind) {
      case 'integer':
        return this.#integer(scope, depth);
      case 'decimal':
        return this.#decimal(scope, depth);
      case 'float':
        return this.#float(scope, depth);
      case 'text':
        return this.#text(scope, depth);
      case 'date':
        return `(${this.of('date', scope, depth - 1)} + ${dice.below(9) - 4})`;
      case 'flag':
        return this.predicate(scope, depth);
      case 'rough':
        return `(${this.of(dice.pick(['integer', 'float', 'decimal']), scope, depth - 1)} / 3)`;
      case 'list':
        return `[${this.of('integer', scope, depth - 1)}, ${this.of('integer', scope, depth - 1)}]`;
    }
  }

  predicate(scope: Scope, depth: number): string {
    const dice = this.#dice;
    if (depth > 0 && dice.chance(40)) {
      const [left, right] = [this.predicate(scope, depth - 1), this.predicate(scope, depth - 1)];
      if (dice.chance(20)) return `(NOT ${left})`;
      return `(${left} ${dice.pick(['AND', 'OR'])} ${right})`;
    }
    if (this.#subqueries !== null && dice.chance(12)) return this.#subqueries.predicate(scope);
    return this.#comparison(scope, depth);
  }

  #comparison(scope: Scope, depth: number): string {
    const dice = this.#dice;
    const kinds = [...new Set(firmColumns(scope).map(({ kind }) => kind))];
    const kind = kinds.length === 0 ? 'integer' : dice.pick(kinds);
    const left = this.of(kind, scope, depth - 1);
    const roll = dice.below(100);
    if (roll < 12) return `(${left} IS ${dice.pick(['', 'NOT '])}NULL)`;
    if (kind === 'flag') return `(${left} IS NOT FALSE)`;
    if (kind === 'text' && roll < 30)
      return `(${left} ${dice.pick(['LIKE', 'NOT LIKE', 'ILIKE'])} '${dice.pick(['g%', '%1', '_', '%', 'G_', ''])}')`;
    if (roll < 40) {
      const items = Array.from({ length: 1 + dice.below(4) }, () => this.literal(kind));
      return `(${left} ${dice.pick(['', 'NOT '])}IN (${items.join(', ')}))`;
    }
    const right = dice.chance(50) ? this.literal(kind) : this.of(kind, scope, depth - 1);
    if (roll < 50) return `(${left} BETWEEN ${right} AND ${this.of(kind, scope, 0)})`;
    if (roll < 58) return `(${left} IS ${dice.pick(['', 'NOT '])}DISTINCT FROM ${right})`;
    return `(${left} ${dice.pick(['=', '<>', '<', '<=', '>', '>='])} ${right})`;
  }

  literal(kind: Kind): string {
    const dice = this.#dice;
    if (dice.chance(5)) return `NULL::${SQL_TYPES[kind]}`;
    switch (kind) {
      case 'integer':
        return `${dice.below(30) - 3}`;
      case 'decimal':
        return `${dice.below(40) - 5}.${dice.pick(['25', '5', '125', '00'])}`;
      case 'float':
        return `(${dice.below(40) - 10} * 0.25)::DOUBLE`;
      case 'rough':
        return `(${dice.below(40)} / 3)::DOUBLE`;
      case 'text':
        return `'${dice.pick(['g0', 'g1', 'g2', 'g3', 'a', 'c', '', 'G1'])}'`;
      case 'date':
        return `DATE '2024-0${2 + dice.below(2)}-${10 + dice.below(19)}'`;
      case 'flag':
        return dice.pick(['true', 'false']);
      case 'list':
        return `[${dice.below(4)}, ${dice.below(4)}]`;
    }
  }

  #leaf(kind: Kind, scope: Scope): string {
    const dice = this.#dice;
    const own = columnsOf(scope, kind);
    const outer = scope.outer === null ? [] : columnsOf(scope.outer, kind);
    if (outer.length > 0 && dice.chance(20)) return dice.pick(outer);
    if (own.length > 0 && dice.chance(85)) return dice.pick(own);
    return this.literal(kind);
  }

  #case(kind: Kind, scope: Scope, depth: number): string {
    const otherwise = this.#dice.chance(70) ? ` ELSE ${this.of(kind, scope, depth - 1)}` : '';
    const first = `WHEN ${this.predicate(scope, depth - 1)} THEN ${this.of(kind, scope, depth - 1)}`;
    return `(CASE ${first}${otherwise} END)`;
  }

  #coalesce(kind: Kind, scope: Scope, depth: number): string {
    const [one, two] = [this.of(kind, scope, depth - 1), this.of(kind, scope, depth - 1)];
    const names = kind === 'list' ? ['coalesce'] : ['coalesce', 'nullif', 'greatest', 'least'];
    return `${this.#dice.pick(names)}(${one}, ${two})`;
  }

  #integer(scope: Scope, depth: number): string {
    const dice = this.#dice;
    const inner = this.of('integer', scope, depth - 1);
    switch (dice.below(9)) {
      case 0:
        return `(${inner} + ${this.of('integer', scope, depth - 1)})`;
      case 1:
        return `(${inner} - ${dice.below(10)})`;
      case 2:
        return `(${inner} % ${2 + dice.below(7)})`;
      case 3:
        return `(${inner} // ${1 + dice.below(4)})`;
      case 4:
        return `abs(${inner})`;
      case 5:
        return `length(${this.of('text', scope, depth - 1)})`;
      case 6:
        return `${dice.pick(['year', 'month', 'day', 'dayofweek'])}(${this.of('date', scope, depth - 1)})`;
      case 7:
        return `floor(${this.of('float', scope, depth - 1)})::${dice.pick(['INTEGER', 'BIGINT', 'HUGEINT'])}`;
      default:
        return `(${inner})::${dice.pick(['BIGINT', 'HUGEINT'])}`;
    }
  }

  #decimal(scope: Scope, depth: number): string {
    const inner = this.of('decimal', scope, depth - 1);
    switch (this.#dice.below(4)) {
      case 0:
        return `(${inner} + 0.25)`;
      case 1:
        return `(0 - ${inner})`;
      case 2:
        return `(${this.of('integer', scope, depth - 1)} % 100)::DECIMAL(9, 2)`;
      default:
        return `abs(${inner})`;
    }
  }

  #float(scope: Scope, depth: number): string {
    const inner = this.of('float', scope, depth - 1);
    switch (this.#dice.below(5)) {
      case 0:
        return `(${inner} + ${this.of('float', scope, depth - 1)})`;
      case 1:
        return `(${inner} * 0.5)`;
      case 2:
        return `(0 - ${inner})`;
      case 3:
        return `(${this.of('integer', scope, depth - 1)} % 50)::DOUBLE`;
      default:
        return `abs(${inner})`;
    }
  }

  #text(scope: Scope, depth: number): string {
    const inner = this.of('text', scope, depth - 1);
    switch (this.#dice.below(6)) {
      case 0:
        return `upper(${inner})`;
      case 1:
        return `(${inner} || '${this.#dice.pick(['x', '', '-'])}')`;
      case 2:
        return `substr(${inner}, ${1 + this.#dice.below(2)}, 2)`;
      case 3:
        return `(${this.of('integer', scope, depth - 1)})::VARCHAR`;
      case 4:
        return `replace(${inner}, 'g', 'h')`;
      default:
        return `(${this.of('date', scope, depth - 1)})::VARCHAR`;
    }
  }
}

export const SQL_TYPES: Readonly<Record<Kind, string>> = {
  ...{ integer: 'INTEGER', decimal: 'DECIMAL(9, 2)', float: 'DOUBLE', text: 'VARCHAR' },
  ...{ date: 'DATE', flag: 'BOOLEAN', rough: 'DOUBLE', list: 'INTEGER[]' },
};
