/**
 * Decides whether a query may run, by its parsed tree from `json_serialize_sql`. Everything in the tree must be known
 * and allowed: kinds of nodes, functions, tables. Anything unknown is refused, so a later version of DuckDB adds
 * nothing unnoticed. Engines are locked to the files of the query as well, but some functions act outside of that
 * lock.
 */
import { didYouMean } from '../../../scheduler/core/index.ts';
import type { Fault, Position } from '../messages.ts';
import { CALLABLE_NAMES, mayCall, readsFiles, tableArguments } from './functions.ts';

/** Returns null if the query is allowed. `tables` are the names of its tables. */
export function statementFault(
  tree: unknown,
  tables: readonly string[],
  functions: readonly string[] = [],
): Fault | null {
  const known = new Set(tables.map(lower));
  for (const node of nodesOf(tree))
    for (const name of ctesOf(node)) if (!isOwnView(name)) known.add(lower(name));
  const own = new Set(functions.map(lower));
  const names: Names = { tables: new Set(tables.map(lower)), known, all: tables, own };
  const called = new Set<unknown>();
  for (const node of nodesOf(tree)) {
    // Already checked as part of its table function.
    if (called.has(node)) continue;
    const fault = nodeFault(node, names);
    if (fault !== null) return fault;
    if (node['type'] === 'TABLE_FUNCTION') called.add(node['function']);
  }
  return null;
}

interface Names {
  readonly tables: ReadonlySet<string>;
  /**
   * These and all CTEs, whatever their scope: out of scope a name means nothing, or a file, which the lock of the
   * engine refuses.
   */
  readonly known: ReadonlySet<string>;
  readonly all: readonly string[];
  /** Custom functions. */
  readonly own: ReadonlySet<string>;
}

type Node = Readonly<Record<string, unknown>>;

/**
 * Every object in the tree, in the order of the text as far as the tree keeps it. Iterative, because trees may be
 * deep.
 */
function* nodesOf(tree: unknown): Generator<Node> {
  const open: unknown[] = [tree];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) yield value as Node;
    const children = Object.values(value);
    for (let at = children.length - 1; at >= 0; at -= 1) open.push(children[at]);
  }
}

/** A view of DuckDB's own, which the name means where no CTE of that name is in scope. */
export function isOwnView(name: string): boolean {
  return /^(?:duckdb_|pg_|pragma_|sqlite_)/i.test(name);
}

function ctesOf(node: Node): readonly string[] {
  const map = (node['cte_map'] as Node | undefined)?.['map'];
  const keys = Array.isArray(map) ? map.map((entry: Node) => entry['key']) : [];
  return [...keys, node['cte_name'], node['ctename']].filter((name) => typeof name === 'string');
}

const EXPRESSIONS: ReadonlySet<string> = new Set(
  `BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA LAMBDA_REF OPERATOR
   POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW`.split(/\s+/),
);

const OTHERS: ReadonlySet<string> = new Set(
  `SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE
   BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EXPRESSION_LIST EMPTY EMPTY_FROM PIVOT SHOW_REF
   ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER
   ORDER_DEFAULT ASCENDING DESCENDING`.split(/\s+/),
);

const TYPE_INFO = /^[A-Z_]+_TYPE_INFO$/;

function nodeFault(node: Node, names: Names): Fault | null {
  const { class: kind, type } = node;
  if (kind !== undefined) {
    if (typeof kind !== 'string') return unknownKind('expression', node);
    if (!EXPRESSIONS.has(kind)) return unknownKind(kind, node);
    return kind === 'FUNCTION' || kind === 'WINDOW' ? callFault(node, names) : null;
  }
  if (typeof type !== 'string') return null;
  if (!OTHERS.has(type)) return TYPE_INFO.test(type) ? null : unknownKind(type, node);
  switch (type) {
    case 'BASE_TABLE':
      return tableFault(node, names);
    case 'TABLE_FUNCTION':
      return tableFunctionFault(node, names);
    case 'SHOW_REF':
      return typeof node['query'] === 'object'
        ? null
        : {
            ...plainFault(node),
            what: 'This is not the name of a table, nor SHOW TABLES by itself.',
          };
    default:
      return null;
  }
}

function callFault(node: Node, { own }: Names): Fault | null {
  // A window function's own name is its type, unless DuckDB says more.
  const name = node['function_name'];
  if (typeof name !== 'string') return unknownKind('call', node);
  return mayCall(name) || own.has(lower(name)) ? null : functionFault(name, node);
}

function tableFunctionFault(node: Node, { tables }: Names): Fault | null {
  const call = node['function'] as Node | undefined;
  const name = call?.['function_name'];
  if (call?.['class'] !== 'FUNCTION' || typeof name !== 'string')
    return unknownKind('table function', node);
  const wanted = tableArguments(name);
  const given = (call['children'] ?? []) as readonly Node[];
  switch (wanted) {
    case null:
      return functionFault(name, call);
    case 'expressions':
      return null;
    case 'literals':
      if (given.every(isLiteralArgument)) return null;
      return { ...plainFault(call), what: `The arguments of ${name} must be constants.` };
    case 'table':
      if (namesTable(given[0], tables)) return null;
      return {
        ...plainFault(call),
        what: `The first argument of ${name} must be the name of a table of the query.`,
      };
  }
}

/** `x := 1` has an alias, `x = 1` is a comparison. */
function isLiteralArgument(node: Node): boolean {
  const isNamed = node['type'] === 'COMPARE_EQUAL';
  return isLiteral(isNamed ? (node['right'] as Node) : node);
}

const LITERAL_CALLS: ReadonlySet<string> = new Set(['list_value', 'struct_pack', 'row', '-', '+']);

function isLiteral(node: Node): boolean {
  switch (node['class']) {
    case 'CONSTANT':
      return true;
    case 'CAST':
      return isLiteral(node['child'] as Node);
    case 'FUNCTION':
      return (
        LITERAL_CALLS.has(String(node['function_name'])) &&
        ((node['children'] ?? []) as readonly Node[]).every(isLiteral)
      );
    default:
      return false;
  }
}

function namesTable(node: Node | undefined, tables: ReadonlySet<string>): boolean {
  if (node === undefined || node['alias'] !== undefined) return false;
  const [name, ...more] = (node['column_names'] ?? []) as readonly string[];
  if (node['class'] === 'COLUMN_REF')
    return name !== undefined && more.length === 0 && tables.has(lower(name));
  const text = (node['value'] as Node | undefined)?.['value'];
  return node['class'] === 'CONSTANT' && typeof text === 'string' && tables.has(lower(text));
}

/** `recurring.x` is the result so far of a recursive query with keys. */
const SCHEMAS: ReadonlySet<unknown> = new Set([undefined, '', 'main', 'recurring']);

function tableFault(node: Node, { known, all }: Names): Fault | null {
  const { table_name: table, schema_name: schema, catalog_name: catalog } = node;
  const name = String(table);
  const isPlain = SCHEMAS.has(schema) && (catalog === undefined || catalog === '');
  if (isPlain && known.has(lower(name))) return null;
  const full = [catalog, schema, table].filter((part) => typeof part === 'string' && part !== '');
  // A plain name cannot be a path; with anything else in it DuckDB looks for a file.
  if (isPlain && !/^[\p{L}\p{N}_$ -]+$/u.test(name)) return fileFault(name, node);
  return {
    code: 'table_missing',
    what: `Table with name ${full.join('.')} does not exist!${didYouMean(name, all)}`,
    todo: 'Name it in `tables`, or add it to the catalog.',
    ...placeOf(node),
  };
}

const AS_TABLE =
  'Name the file as a table, in `tables` or in the catalog. A query can open nothing else.';

function fileFault(name: string, node: Node): Fault {
  return {
    code: 'path_refused',
    what: `The query may not open ${name} directly.`,
    todo: AS_TABLE,
    ...placeOf(node),
  };
}

function functionFault(name: string, node: Node): Fault {
  const what = `The function ${name} cannot be used in a query.${didYouMean(name, CALLABLE_NAMES)}`;
  if (readsFiles(name)) return { code: 'path_refused', what, todo: AS_TABLE, ...placeOf(node) };
  return {
    ...plainFault(node),
    what,
    why: 'It does not exist, or it reaches beyond the tables of the query.',
  };
}

function unknownKind(kind: string, node: Node): Fault {
  return { ...plainFault(node), what: `A query must not contain ${kind}.` };
}

function plainFault(node: Node): Pick<Fault, 'code' | 'position'> {
  return { code: 'bad_query', ...placeOf(node) };
}

/** DuckDB writes the largest number if it does not know. */
function placeOf({ query_location: at }: Node): { readonly position?: Position } {
  return Number.isSafeInteger(at) ? { position: { at: Number(at), unit: 'byte' } } : {};
}

function lower(name: string): string {
  return name.toLowerCase();
}
