/**
 * Rows into tables, never one at a time: as columns that a statement unnests. DuckDB does that in a thread of its own, and
 * this one, which also commits and answers, only makes the text. A column with one value in all rows is that value.
 *
 * Measured for 25 columns, six of them not constant: 0.4 us a row in this thread and 3 in DuckDB's. The four rows of a job
 * took 15 us through its appender, profiled on a busy machine, all in this one.
 *
 * An UPDATE from such rows changes them in place. Deleting and inserting them anew was as fast at
 * first, but lost its clustering and stalled twice as long at a checkpoint.
 */
import { type Cell, type CellType, type Column, rowOf, type Table } from './columns.ts';
import { type Parameter, type Session } from './session.ts';

/** What one statement takes: about a millisecond in this thread. */
const PORTION_ROWS = 2_000;
const PORTION_CHARS = 512 * 1024;

const SHARD = 'shard';

export async function insertRows<Row>(
  session: Session,
  table: Table<Row>,
  shard: number,
  rows: readonly Row[],
): Promise<void> {
  const names = [SHARD, ...table.columns.map(({ name }) => name)].join(', ');
  for (const portion of portionsOf(table, rows)) {
    const { sql, parameters } = selected(table, shard, portion);
    await session.run(`insert into ${table.name} (${names}) ${sql}`, ...parameters);
  }
}

/** Something to select from. */
export interface Source {
  /** A FROM item with the columns of the table, named `s`. */
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** Lends `rows` to statements as a source, a portion at a time. */
export async function withRows<Row>(
  table: Table<Row>,
  shard: number,
  rows: readonly Row[],
  use: (source: Source) => Promise<unknown>,
): Promise<void> {
  for (const portion of portionsOf(table, rows)) {
    const { sql, parameters } = selected(table, shard, portion);
    await use({ sql: `(${sql}) s`, parameters });
  }
}

function* portionsOf<Row>(table: Table<Row>, rows: readonly Row[]): Generator<readonly Row[]> {
  const texts = table.columns.filter(({ type }) => type === 'varchar');
  let from = 0;
  let chars = 0;
  for (const [at, row] of rows.entries()) {
    let own = 0;
    for (const { get } of texts) own += (get(row) as string | null)?.length ?? 0;
    if (at > from && (at - from === PORTION_ROWS || chars + own > PORTION_CHARS)) {
      yield rows.slice(from, at);
      from = at;
      chars = 0;
    }
    chars += own;
  }
  if (from < rows.length) yield from === 0 ? rows : rows.slice(from);
}

/** `select $1::integer as shard, unnest(from_json($2, '["BIGINT"]')) as no, $3::varchar as name, null::bigint as ...` */
function selected<Row>(
  { columns }: Table<Row>,
  shard: number,
  rows: readonly Row[],
): { readonly sql: string; readonly parameters: readonly Parameter[] } {
  const parameters: Parameter[] = [shard];
  const bound = (parameter: Parameter): string => `$${parameters.push(parameter)}`;
  const items = columns.map((column) => `${itemOf(column, rows, bound)} as ${column.name}`);
  return { sql: `select $1::integer as ${SHARD}, ${items.join(', ')}`, parameters };
}

function itemOf<Row>(
  { type, get }: Column<Row>,
  rows: readonly Row[],
  bound: (text: string) => string,
): string {
  const first = get(rows[0] as Row);
  let same = 1;
  while (same < rows.length && isSame(get(rows[same] as Row), first)) same += 1;
  if (same < rows.length) {
    const cells = rows.map((row) => checked(get(row)));
    return `unnest(from_json(${bound(JSON.stringify(cells))}, '[${structure(type)}]'))`;
  }
  if (first === null) return `null::${type}`;
  return typeof first === 'object'
    ? `from_json(${bound(JSON.stringify(first))}, '${structure(type)}')`
    : `${bound(String(checked(first)))}::${type}`;
}

/** Labels and dependencies are empty lists in most rows. */
function isSame(cell: Cell, other: Cell): boolean {
  if (cell === other) return true;
  return Array.isArray(cell) && Array.isArray(other) && cell.length === 0 && other.length === 0;
}

/** JSON would make null of it. */
function checked(cell: Cell): Cell {
  if (typeof cell !== 'number' || Number.isFinite(cell)) return cell;
  throw new Error(`${cell} is not a number that a table can hold.`);
}

/** The type as `from_json` wants it. */
function structure(type: CellType): string {
  const [item = type, isList] = type.split('[');
  return isList === undefined ? `"${item}"` : `["${item}"]`;
}

/** Returns the number of stored rows that were changed: fewer than given means unknown ones. */
export async function updateRows<Row>(
  session: Session,
  table: Table<Row>,
  keys: readonly string[],
  shard: number,
  rows: readonly Row[],
): Promise<number> {
  const set = table.columns.map(({ name }) => name).filter((name) => !keys.includes(name));
  const assignments = set.map((name) => `${name} = s.${name}`).join(', ');
  let changed = 0;
  await withRows(table, shard, rows, async ({ sql, parameters }) => {
    changed += await session.run(
      `update ${table.name} t set ${assignments} from ${sql} where ${sameKeys(keys)}`,
      ...parameters,
    );
  });
  return changed;
}

export const sameKeys = (keys: readonly string[]): string =>
  ['shard', ...keys].map((key) => `t.${key} = s.${key}`).join(' and ');

/** Reads rows of one table; `rest` is what follows FROM, with the table as `t`. */
export async function selectRows<Row>(
  session: Session,
  table: Table<Row>,
  rest: string,
  ...parameters: readonly Parameter[]
): Promise<Row[]> {
  const cells = await session.rows(
    `select ${columnList(table)} from ${table.name} t ${rest}`,
    ...parameters,
  );
  return cells.map((row) => rowOf(table, row));
}

export const columnList = <Row>(table: Table<Row>, except?: Column<Row>): string =>
  table.columns
    .map((column) => (column === except ? `null as ${column.name}` : `t.${column.name}`))
    .join(', ');
