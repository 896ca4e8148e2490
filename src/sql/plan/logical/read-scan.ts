/** Reads scans: which columns of which files, and the filters that DuckDB pushed down into them. */
import type { Expression } from './expression.ts';
import { readLiteral, stringText } from './literal.ts';
import type { PlanNode } from './plan-node.ts';
import type { ReadContext } from './read-context.ts';
import { readComparison, readExpression } from './read-expression.ts';
import { readType } from './read-type.ts';
import type { Relation, ScanRelation, Values } from './relation.ts';
import { BOOLEAN, INTEGER, listType, VARCHAR, type SqlType } from './type.ts';
import { Undistributable, unknownPlan } from './undistributable.ts';

/** Column ids from here on are virtual. */
const FIRST_VIRTUAL = 2n ** 63n;
/** No data, only the existence of a row. */
const EMPTY_COLUMN = 2n ** 64n - 2n;
const NO_ORDINALITY = 2n ** 64n - 1n;

export function readScan(node: PlanNode, context: ReadContext, rows: number | null): Relation {
  const reader = node.at('name').text();
  checkScan(node, reader);
  const placeholder = reader === 'repeat_row' ? placeholderOf(node) : null;
  if (placeholder !== null) return readPlaceholder(node, placeholder, rows);
  if (reader === 'range' || reader === 'generate_series') return readSeries(node, reader, rows);
  if (reader !== 'read_parquet' && reader !== 'parquet_scan' && reader !== 'seq_scan') {
    throw new Undistributable(`it reads from ${reader}()`);
  }
  const types = node.at('returned_types').list().map(readType);
  const ids = node.at('column_indexes').list().map(readColumnId);
  const columns = ids.map((id) => {
    if (id === EMPTY_COLUMN) return null;
    if (id >= FIRST_VIRTUAL)
      throw new Undistributable('it reads the position of rows in their files');
    return Number(id);
  });
  const typeAt = (place: number): SqlType => {
    const column = columns[place];
    if (column === undefined) throw node.odd('column');
    const type = column === null ? BOOLEAN : types[column];
    if (type === undefined) throw node.odd('column type');
    return type;
  };
  const chosen = node
    .at('projection_ids')
    .list()
    .map((id) => id.index());
  const keep = chosen.length > 0 ? chosen : columns.map((_, place) => place);
  const names = node
    .at('names')
    .list()
    .map((name) => name.text());
  const source = readSource(node, reader);
  const output = keep.map(typeAt);
  // Judging by their paths, no file can have a matching row.
  if (source.table === null && source.files.length === 0) return { kind: 'empty', output, rows: 0 };
  const scan: ScanRelation = {
    kind: 'scan',
    reader: reader === 'parquet_scan' ? 'read_parquet' : reader,
    ...source,
    names,
    types,
    columns,
    filters: readFilters(node, columns, typeAt, context),
    keep,
    hasRowPlaces: asksForPlaces(node, reader, columns, names),
    output,
    rows,
  };
  return scan;
}

/** Marks the rows that stand for the output of a custom operator, see `distribute/placeholder.ts`. */
export const PLACEHOLDER = 'millrace operator ';

function placeholderOf(node: PlanNode): string | null {
  const [first] = node.at('parameters').list();
  const isText = first !== undefined && first.at('type').at('id').text() === 'VARCHAR';
  if (!isText || first.at('is_null').bool()) return null;
  const value = first.at('value').text();
  return value.startsWith(PLACEHOLDER) ? value.slice(PLACEHOLDER.length) : null;
}

/** Its first column is the mark, which nothing reads. */
function readPlaceholder(node: PlanNode, table: string, rows: number | null): ScanRelation {
  const [, ...types] = node.at('returned_types').list().map(readType);
  const places = node
    .at('column_indexes')
    .list()
    .map((id) => Number(readColumnId(id)) - 1);
  const columns = places.map((place) => (place >= 0 && place < types.length ? place : null));
  const output = columns.map((place) => types[place ?? 0] ?? BOOLEAN);
  return {
    kind: 'scan',
    reader: 'seq_scan',
    files: [],
    table,
    names: types.map((_, at) => `c${at}`),
    types,
    columns,
    filters: [],
    keep: columns.map((_, at) => at),
    hasRowPlaces: false,
    output,
    rows,
  };
}

/** Refuses scans that do more than read. */
function checkScan(node: PlanNode, reader: string): void {
  if (node.at('children').list().length > 0 || node.at('projected_input').list().length > 0) {
    throw new Undistributable(`it calls ${reader}() for each row`);
  }
  if (node.at('ordinality_idx').integer() !== NO_ORDINALITY) {
    throw new Undistributable('it reads WITH ORDINALITY');
  }
  const extra = node.at('extra_info');
  if (extra.isThere && extra.at('sample_options').isThere) {
    throw new Undistributable('it takes a sample');
  }
  // This optimizer may have moved a part of an OFFSET into the scan.
  if (node.at('row_group_order_options').isThere) {
    throw new Undistributable('it skips rows by their position in the files');
  }
}

function readColumnId(node: PlanNode): bigint {
  const check = (column: PlanNode): void => {
    if (!column.at('has_index').bool() || column.at('index_type').text() !== 'FULL_READ') {
      throw column.odd('whole column');
    }
    column.at('child_indexes').list().forEach(check);
  };
  check(node);
  return node.at('index').integer();
}

function readSource(node: PlanNode, reader: string): Pick<ScanRelation, 'files' | 'table'> {
  const data = node.at('function_data');
  if (reader === 'seq_scan') return { files: [], table: data.at('table').text() };
  const files = data.at('files').list();
  return { files: files.map((file) => file.text()), table: null };
}

function asksForPlaces(
  node: PlanNode,
  reader: string,
  columns: readonly (number | null)[],
  names: readonly string[],
): boolean {
  if (reader === 'seq_scan') return false;
  const options = node.at('function_data').at('parquet_options');
  if (!options.at('file_row_number').bool()) return false;
  return columns.some((column) => column !== null && names[column] === 'file_row_number');
}

function readFilters(
  node: PlanNode,
  columns: readonly (number | null)[],
  typeAt: (place: number) => SqlType,
  context: ReadContext,
): Expression[] {
  return node
    .at('table_filters')
    .at('filters')
    .list()
    .flatMap((entry) => {
      const key = entry.at('key').index();
      const index = columns.indexOf(key);
      if (index < 0) throw entry.odd('column of the filter');
      const column: Expression = { kind: 'column', index, type: typeAt(index) };
      return readFilter(entry.at('value'), column, context) ?? [];
    });
}

/** Returns null for a filter that only saves work: the rows it lets through are filtered elsewhere too. */
function readFilter(node: PlanNode, input: Expression, context: ReadContext): Expression | null {
  const kind = node.at('filter_type').text();
  switch (kind) {
    case 'OPTIONAL_FILTER':
      return null;
    case 'CONSTANT_COMPARISON': {
      const comparison = readComparison(node.at('comparison_type'));
      const right = readConstant(node.at('constant'));
      return { kind: 'compare', comparison, left: input, right, type: BOOLEAN };
    }
    case 'IS_NULL':
      return { kind: 'isNull', input, type: BOOLEAN };
    case 'IS_NOT_NULL':
      return { kind: 'isNotNull', input, type: BOOLEAN };
    case 'IN_FILTER': {
      const list = node.at('values').list().map(readConstant);
      return { kind: 'in', negated: false, input, list, type: BOOLEAN };
    }
    case 'CONJUNCTION_AND':
    case 'CONJUNCTION_OR': {
      const parts = node
        .at('child_filters')
        .list()
        .map((child) => readFilter(child, input, context));
      const there = parts.filter((part) => part !== null);
      const isOr = kind === 'CONJUNCTION_OR';
      // If one side of an OR may let every row through, so may the OR.
      if (there.length === 0 || (isOr && there.length < parts.length)) return null;
      return { kind: isOr ? 'or' : 'and', parts: there, type: BOOLEAN };
    }
    case 'STRUCT_EXTRACT':
      return readFilter(node.at('child_filter'), fieldOf(node, input), context);
    case 'EXPRESSION_FILTER':
      return readExpression(node.at('expr'), { ...context, places: [input] });
    default:
      throw unknownPlan(`a scan has a filter of the kind ${kind}`);
  }
}

function fieldOf(node: PlanNode, input: Expression): Expression {
  const name = node.at('child_name').text();
  const type = input.type.children?.[node.at('child_idx').index()];
  if (type === undefined || name === '') throw node.odd('field');
  const field: Expression = { kind: 'constant', sql: stringText(name), type: VARCHAR };
  return { kind: 'call', name: 'struct_extract', args: [input, field], type };
}

function readConstant(node: PlanNode): Expression {
  const type = readType(node.at('type'));
  return { kind: 'constant', sql: readLiteral(node, type), type };
}

/** The one row of a query without FROM. DuckDB counts a column in it that nothing reads. */
export function oneRow(rows: number | null): Values {
  const nothing: Expression = { kind: 'constant', sql: 'CAST(NULL AS INTEGER)', type: INTEGER };
  return { kind: 'values', lists: [[nothing]], output: [INTEGER], rows };
}

/** Constant rows that DuckDB computed itself. They are stored by column. */
export function readChunk(node: PlanNode): Relation {
  const output = node.at('chunk_types').list().map(readType);
  const columns = node
    .at('collection')
    .at('values')
    .list()
    .map((column) => column.list().map(readConstant));
  const [first, ...others] = columns;
  const rows = first?.length ?? 0;
  if (columns.length !== output.length || others.some(({ length }) => length !== rows)) {
    throw node.odd('even columns');
  }
  if (rows === 0) return { kind: 'empty', output, rows };
  const lists = (first ?? []).map((_, row) => columns.flatMap((column) => column[row] ?? []));
  return { kind: 'values', lists, output, rows };
}

const SERIES: ReadonlySet<string> = new Set(['BIGINT', 'TIMESTAMP', 'TIMESTAMP WITH TIME ZONE']);

/** `range(10)` as a table: the same as unnesting the list of that name. */
function readSeries(node: PlanNode, reader: string, rows: number | null): Relation {
  const args = node.at('parameters').list().map(readConstant);
  const [type, ...others] = node.at('returned_types').list().map(readType);
  const chosen = node.at('column_indexes').list().map(readColumnId);
  const hasFilters = node.at('table_filters').at('filters').list().length > 0;
  const isPlain = others.length === 0 && !hasFilters && chosen.length === 1 && chosen[0] === 0n;
  if (type === undefined || !SERIES.has(type.id) || !isPlain) {
    throw new Undistributable(`it reads from ${reader}()`);
  }
  const list: Expression = { kind: 'call', name: reader, args, type: listType(type) };
  return {
    kind: 'project',
    input: {
      kind: 'unnest',
      input: oneRow(1),
      expressions: [list],
      output: [INTEGER, type],
      rows,
    },
    expressions: [{ kind: 'column', index: 1, type }],
    output: [type],
    rows,
  };
}
