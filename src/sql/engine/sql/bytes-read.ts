/**
 * How much of its tables a statement reads at most, by its parsed tree: all columns that it names, and all of a table where it
 * says `*`. So a query over little data is known to be small before DuckDB plans it.
 */
import type { TableBytes } from '../messages.ts';

type Node = Readonly<Record<string, unknown>>;

/** A table in FROM. */
interface Mention {
  readonly names: readonly string[];
  readonly table: TableBytes;
  isWhole: boolean;
}

/** What only DuckDB's binder can tell the columns of. */
const UNCERTAIN: ReadonlySet<unknown> = new Set(['TABLE_FUNCTION', 'PIVOT', 'SHOW_REF']);
/** They join by columns that the text does not name. */
const UNNAMED: ReadonlySet<unknown> = new Set(['NATURAL', 'POSITIONAL']);

/** Null if the tree does not tell. A table that is read twice counts twice. */
export function bytesRead(tree: unknown, tables: readonly TableBytes[]): number | null {
  const known = new Map(tables.map((table) => [lower(table.name), table]));
  const columns = new Set<string>();
  const rows = new Set<string>();
  const mentions: Mention[] = [];
  /** `EXISTS (SELECT * ...)` reads no column. */
  const unread = new Set<unknown>();
  // Iterative, because trees may be deep. `scope`: what `*` means there.
  const open: { readonly value: unknown; readonly scope: readonly Mention[] }[] = [];
  open.push({ value: tree, scope: [] });
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, scope } = next;
    if (typeof value !== 'object' || value === null) continue;
    const node = value as Node;
    if (UNCERTAIN.has(node['type']) || UNNAMED.has(node['ref_type'])) return null;
    if (node['column_name_alias'] !== undefined) return null;
    // `#1`: a column of FROM.
    if (node['class'] === 'POSITIONAL_REFERENCE') return null;
    if (node['subquery_type'] === 'EXISTS') unread.add(selectListIn(node));
    if (node['class'] === 'STAR') for (const mention of scope) mention.isWhole = true;
    for (const name of textsIn(node['column_names'])) columns.add(lower(name));
    for (const name of textsIn(node['using_columns'])) columns.add(lower(name));
    // Behind the names of schemas, or of a table that has such a column: that is too much at most.
    const row = textsIn(node['column_names']).at(-1);
    if (row !== undefined) rows.add(lower(row));
    const within = node['type'] === 'SELECT_NODE' ? mentionsIn(node['from_table'], known) : scope;
    if (within !== scope) mentions.push(...within);
    for (const child of Object.values(node))
      open.push({ value: child, scope: unread.has(child) ? [] : within });
  }
  return mentions.reduce((sum, mention) => sum + bytesOf(mention, columns, rows), 0);
}

function selectListIn(node: Node): unknown {
  const { subquery } = node as { readonly subquery?: { readonly node?: Node } };
  return subquery?.node?.['select_list'];
}

/** The tables of one FROM clause, without those of its subqueries. */
function mentionsIn(from: unknown, known: ReadonlyMap<string, TableBytes>): readonly Mention[] {
  const found: Mention[] = [];
  const open = [from as Node | undefined];
  while (open.length > 0) {
    const node = open.pop();
    if (node?.['type'] === 'JOIN') {
      open.push(node['left'] as Node, node['right'] as Node);
      continue;
    }
    if (node?.['type'] !== 'BASE_TABLE') continue;
    const names = textsIn([node['table_name'], node['alias']]).map(lower);
    // A CTE of the same name counts as the table: that is too much at most.
    const table = known.get(names[0] ?? '');
    if (table !== undefined) found.push({ names, table, isWhole: false });
  }
  return found;
}

function bytesOf(
  { names, table, isWhole }: Mention,
  columns: ReadonlySet<string>,
  rows: ReadonlySet<string>,
): number {
  // `SELECT t FROM t` reads rows as values.
  if (isWhole || table.columns === null || names.some((name) => rows.has(name))) return table.bytes;
  return table.columns.reduce(
    (sum, [name, bytes]) => sum + (columns.has(lower(name)) ? bytes : 0),
    0,
  );
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function lower(name: string): string {
  return name.toLowerCase();
}
