/** Two answers held against each other, by type and with the leeway that the query leaves. */
import type { Answer, Cell, Column } from './contract-values.ts';
import type { Leeway } from './oracle.ts';

const TOLERANCE = 1e-9;
/** A FLOAT has seven digits. */
const FLOAT_TOLERANCE = 1e-6;

type Row = readonly Cell[];
type Fields = Readonly<Record<string, Cell>>;

const isList = (cell: Cell): cell is Row => Array.isArray(cell);
const isFields = (cell: Cell): cell is Fields =>
  typeof cell === 'object' && cell !== null && !isList(cell);

/**
 * What is wrong with `given`, or null. `whole` is what a query with ties answers without its LIMIT: then `given` has
 * to have the same order keys at each place, and rows that are all in `whole`.
 */
export function difference(
  own: Answer,
  given: Answer,
  leeway: Leeway,
  whole: Answer | null,
): string | null {
  const columns = columnDifference(own.columns, given.columns);
  if (columns !== null) return columns;
  if (own.rows.length !== given.rows.length)
    return `DuckDB has ${own.rows.length} rows, the answer ${given.rows.length}`;
  const open = new Set(leeway.open);
  const kinds = own.columns.map((column, at) => kindOf(column, at + 1, leeway, open));
  const order = (leeway.order ?? []).map((position) => position - 1);
  const sequence = orderDifference(own.rows, given.rows, order, kinds);
  if (sequence !== null) return sequence;
  if (whole !== null) return matchRows(whole.rows, given.rows, kinds);
  let start = 0;
  while (start < own.rows.length) {
    const end = endOfRun(own.rows, start, order);
    const wrong = matchRows(own.rows.slice(start, end), given.rows.slice(start, end), kinds);
    if (wrong !== null) return order.length === 0 ? wrong : `rows ${start} to ${end}: ${wrong}`;
    start = end;
  }
  return null;
}

interface Kind {
  readonly column: Column;
  readonly isOpen: boolean;
  readonly isBag: boolean;
  /** Its values may differ a little: they cannot be looked up, only held against each other. */
  readonly isLoose: boolean;
  readonly tolerance: number;
  readonly floor: number;
}

function kindOf(column: Column, position: number, leeway: Leeway, open: Set<number>): Kind {
  const isFloat = /\bFLOAT\b/.test(column.type);
  return {
    column,
    isOpen: open.has(position),
    isBag: leeway.bags?.includes(position) ?? false,
    isLoose: isFloat || /\bDOUBLE\b/.test(column.type),
    tolerance: leeway.tolerance ?? (isFloat ? FLOAT_TOLERANCE : TOLERANCE),
    floor: leeway.floor ?? 0,
  };
}

function columnDifference(own: readonly Column[], given: readonly Column[]): string | null {
  const text = (columns: readonly Column[]): string =>
    columns.map(({ name, type }) => `${name} ${plainType(type)}`).join(', ');
  const [ours, theirs] = [text(own), text(given)];
  return ours === theirs ? null : `DuckDB has the columns (${ours}), the answer (${theirs})`;
}

/** Quotes around names come and go; JSON is text of a known form; a NULL of no type is an INTEGER when it is read. */
function plainType(type: string): string {
  return type
    .replaceAll('"', '')
    .replaceAll(/([,(])\s+/g, '$1')
    .replaceAll(/\bJSON\b/g, 'VARCHAR');
}

/** The order keys have to be the same at each place. */
function orderDifference(
  own: readonly Row[],
  given: readonly Row[],
  order: readonly number[],
  kinds: readonly Kind[],
): string | null {
  for (const [at, row] of own.entries()) {
    for (const column of order) {
      const other = given[at]?.[column] ?? null;
      if (isSame(row[column] ?? null, other, kinds[column]!)) continue;
      const name = kinds[column]!.column.name;
      return `row ${at} is out of order: ${name} is ${show(other)}, DuckDB has ${show(row[column])}`;
    }
  }
  return null;
}

function endOfRun(rows: readonly Row[], start: number, order: readonly number[]): number {
  if (order.length === 0) return rows.length;
  const key = (row: Row): string => show(order.map((column) => row[column] ?? null));
  const first = key(rows[start]!);
  let end = start + 1;
  while (end < rows.length && key(rows[end]!) === first) end += 1;
  return end;
}

/** Every given row is one of those that are there, each taken once. */
function matchRows(
  there: readonly Row[],
  given: readonly Row[],
  kinds: readonly Kind[],
): string | null {
  // Nearly all of them are the same to the last digit.
  const exact = grouped(there, show);
  const strange = given.filter((row) => exact.get(show(row))?.pop() === undefined);
  if (strange.length === 0) return null;
  const keyOf = (row: Row): string => firmKey(row, kinds);
  const free = grouped([...exact.values()].flat(), keyOf);
  for (const row of strange) {
    const group = free.get(keyOf(row)) ?? [];
    // Of those that fit the nearest one: a far one may be the only one for the next row.
    const fits = group.filter((candidate) => isSameRow(candidate, row, kinds));
    const best = fits.toSorted((a, b) => distance(a, row) - distance(b, row))[0];
    if (best === undefined) {
      const near = group[0] ?? there.find((candidate) => show(candidate[0]) === show(row[0]));
      return `the row ${show(row)} is not DuckDB's; near it is ${show(near ?? there[0] ?? [])}`;
    }
    group.splice(group.indexOf(best), 1);
  }
  return null;
}

function grouped(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return groups;
}

/** What has to be exactly the same. */
function firmKey(row: Row, kinds: readonly Kind[]): string {
  return row
    .map((cell, at) => {
      const kind = kinds[at]!;
      if (kind.isOpen || kind.isLoose) return cell === null ? 'null' : 'some';
      return show(plain(cell, kind));
    })
    .join('\u001F');
}

function distance(a: Row, b: Row): number {
  return a.reduce<number>((sum, cell, at) => {
    const other = b[at];
    return typeof cell === 'number' && typeof other === 'number'
      ? sum + Math.abs(cell - other)
      : sum;
  }, 0);
}

function isSameRow(a: Row, b: Row, kinds: readonly Kind[]): boolean {
  return kinds.every((kind, at) => isSame(a[at] ?? null, b[at] ?? null, kind));
}

function isSame(own: Cell, given: Cell, kind: Kind): boolean {
  if (kind.isOpen) return (own === null) === (given === null);
  return isNear(plain(own, kind), plain(given, kind), kind);
}

function isNear(own: Cell, given: Cell, kind: Kind): boolean {
  if (typeof own === 'number' && typeof given === 'number') {
    if (!kind.isLoose) return own === given;
    const apart = Math.abs(own - given);
    return apart <= Math.max(kind.floor, kind.tolerance * Math.max(Math.abs(own), Math.abs(given)));
  }
  if (isList(own) && isList(given))
    return own.length === given.length && own.every((cell, at) => isNear(cell, given[at]!, kind));
  if (isFields(own) && isFields(given)) {
    const names = Object.keys(own);
    if (names.length !== Object.keys(given).length) return false;
    return names.every((name) => name in given && isNear(own[name]!, given[name]!, kind));
  }
  return own === given;
}

/** What is written in two ways and means the same, in one way. */
function plain(cell: Cell, { column: { type }, isBag }: Kind): Cell {
  if (type === 'TIMESTAMP WITH TIME ZONE' && typeof cell === 'string') return instantOf(cell);
  if (!isList(cell) && !isFields(cell)) return cell;
  const inner = plainNested(cell);
  if (!isBag || !isList(inner)) return inner;
  return inner.toSorted((a, b) => (show(a) < show(b) ? -1 : 1));
}

/** Inside lists and structs numbers may be text or not: the contract speaks of columns. */
function plainNested(cell: Cell): Cell {
  if (typeof cell === 'string' && /^-?\d+$/.test(cell) && Number.isSafeInteger(Number(cell)))
    return Number(cell);
  if (isList(cell)) return cell.map(plainNested);
  if (!isFields(cell)) return cell;
  return Object.fromEntries(
    Object.entries(cell).map(([name, value]) => [name, plainNested(value)]),
  );
}

/** The same moment in any zone. */
function instantOf(text: string): Cell {
  const parts = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+)?([+-]\d\d)(?::(\d\d))?$/.exec(text);
  if (parts === null) return text;
  const [, moment = '', fraction = '', hours = '+00', minutes = '00'] = parts;
  const ms = Date.parse(`${moment.replace(' ', 'T')}${hours}:${minutes}`);
  return `${ms / 1000}s${fraction}`;
}

function show(cell: Cell | undefined): string {
  return cell === undefined ? 'nothing' : JSON.stringify(cell);
}
