/**
 * The columns of a statement, from its parsed tree and its plan. A plan has the types and nearly always the names. Where both say
 * the same of a name, DuckDB need not bind the statement once more to be asked for it.
 */
import type { ResultColumn } from '../../plan/index.ts';

type Node = Readonly<Record<string, unknown>>;

/** The name of a column: as written after AS, or of the column that it is, in any case. */
interface Wanted {
  readonly name: string;
  readonly isExact: boolean;
}

/** Null unless the author has named all columns, each differently. */
export function namedColumns(statements: unknown): readonly Wanted[] | null {
  const [statement] = Array.isArray(statements) ? (statements as readonly Node[]) : [];
  const node = statement?.['node'] as Node | undefined;
  const list = node?.['type'] === 'SELECT_NODE' ? node['select_list'] : undefined;
  if (!Array.isArray(list)) return null;
  const wanted = list.map(wantedOf);
  if (!wanted.every((each) => each !== null)) return null;
  const names = new Set(wanted.map(({ name }) => name.toLowerCase()));
  return names.size === wanted.length ? wanted : null;
}

function wantedOf(item: Node): Wanted | null {
  const { alias, class: kind } = item;
  if (typeof alias === 'string' && alias !== '') return { name: alias, isExact: true };
  const path = item['column_names'];
  const name: unknown = kind === 'COLUMN_REF' && Array.isArray(path) ? path.at(-1) : null;
  return typeof name === 'string' ? { name, isExact: false } : null;
}

/** Operators that pass on the columns of their input, which for a CTE is the query behind it. */
const PASSING: ReadonlySet<unknown> = new Set([
  ...['LOGICAL_ORDER_BY', 'LOGICAL_TOP_N', 'LOGICAL_LIMIT'],
  ...['LOGICAL_DISTINCT', 'LOGICAL_MATERIALIZED_CTE'],
]);

interface Passing {
  readonly children: readonly Node[];
  /** Of an ORDER BY that leaves out columns. */
  readonly projections?: readonly unknown[];
}

/** `plan` is the parsed output of `json_serialize_plan`. Null if it does not tell the columns, or others than wanted. */
export function plannedColumns(
  plan: Node,
  wanted: readonly Wanted[],
): readonly ResultColumn[] | null {
  let [operator] = (plan['plans'] ?? []) as readonly (Node | undefined)[];
  while (operator !== undefined && PASSING.has(operator['type'])) {
    const { projections = [], children } = operator as unknown as Passing;
    if (projections.length > 0) return null;
    operator = children.at(-1);
  }
  if (operator?.['type'] !== 'LOGICAL_PROJECTION') return null;
  const expressions = operator['expressions'] as readonly Node[];
  if (expressions.length !== wanted.length) return null;
  const columns = expressions.map((expression, at) => columnOf(expression, wanted[at]));
  return columns.every((column) => column !== null) ? columns : null;
}

function columnOf(
  { alias, return_type: type, value }: Node,
  wanted: Wanted | undefined,
): ResultColumn | null {
  if (typeof alias !== 'string' || wanted === undefined) return null;
  const isSame = wanted.isExact
    ? alias === wanted.name
    : alias.toLowerCase() === wanted.name.toLowerCase();
  // A constant has its type in its value.
  const own = (type ?? (value as Node | undefined)?.['type']) as Node | undefined;
  const text = isSame && own !== undefined ? typeText(own) : null;
  return text === null ? null : { name: alias, type: text };
}

/** Types that DuckDB writes in one way only. */
const PLAIN: ReadonlySet<unknown> = new Set([
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'FLOAT', 'DOUBLE'],
  ...['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT'],
  ...['VARCHAR', 'BLOB', 'UUID', 'DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE'],
]);

function typeText({ id, type_info: info }: Node): string | null {
  if (info === undefined || info === null) return PLAIN.has(id) ? String(id) : null;
  const { type, alias, width, scale } = info as Node;
  const isDecimal = id === 'DECIMAL' && type === 'DECIMAL_TYPE_INFO' && !alias;
  return isDecimal ? `DECIMAL(${String(width)},${String(scale)})` : null;
}
