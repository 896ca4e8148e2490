/**
 * The columns in the schemas of Parquet files: whether the files are compatible, and which columns of the table are
 * stored as they are.
 */
import { quotedText } from '../../plan/index.ts';
import { fileList } from '../sql/reader.ts';
import { type Connection, Failed } from './work.ts';

/** Files with the same columns. */
interface AlikeFiles {
  /** One of them. */
  readonly file: string;
  readonly columns: readonly FileColumn[];
}

interface FileColumn {
  /** In lower case. */
  readonly name: string;
  /** As DuckDB names it; empty for a nested column. */
  readonly type: string;
}

/** A schema element: its name in lower case, the number of its children, and its type. */
type Element = readonly [name: string, children: string, type: string];

/** Returns each set of columns once. For all files, 10,000 files with 50 columns would take a gigabyte. */
export async function columnsInFiles(
  connection: Connection,
  files: readonly string[],
): Promise<AlikeFiles[]> {
  const firsts = await connection.texts(
    `SELECT min(file_name) FROM (
       SELECT file_name,
         sum(hash(column_id, lower(name), num_children, duckdb_type)::HUGEINT) AS tree
       FROM parquet_schema(${fileList(files)}) GROUP BY file_name
     ) GROUP BY tree`,
  );
  const rows = await connection.texts(
    `SELECT file_name, to_json(list([lower(name), coalesce(num_children, 0)::VARCHAR,
       coalesce(duckdb_type, '')] ORDER BY column_id))::VARCHAR
     FROM parquet_schema(${fileList(firsts.map(([file]) => String(file)))}) GROUP BY file_name`,
  );
  return rows.map(([file, tree]) => ({
    file: String(file),
    columns: topColumns(JSON.parse(String(tree)) as Element[]),
  }));
}

/** Elements are in depth-first order. The first one is the root. */
function topColumns(tree: readonly Element[]): FileColumn[] {
  const columns: FileColumn[] = [];
  const open: number[] = [];
  for (const [name, children, type] of tree) {
    if (open.length === 1) columns.push({ name, type: Number(children) > 0 ? '' : type });
    const last = open.length - 1;
    if (last >= 0) open[last] = (open[last] ?? 0) - 1;
    if (Number(children) > 0) open.push(Number(children));
    while (open.at(-1) === 0) open.pop();
  }
  return columns;
}

export function checkNames(
  files: readonly AlikeFiles[],
  columns: readonly { readonly name: string }[],
): void {
  const sets = files.map(({ file, columns: own }) => {
    return { file, names: new Set(own.map(({ name }) => name)) };
  });
  for (const { name } of columns) {
    const wanted = name.toLowerCase();
    const lacking = sets.find(({ names }) => !names.has(wanted));
    // In none of them: it comes from the path.
    if (lacking === undefined || !sets.some(({ names }) => names.has(wanted))) continue;
    throw new Failed({
      code: 'schema_mismatch',
      what: `The file ${quotedText(lacking.file)} has no column "${name}".`,
      why: 'Another file of the same table has it.',
      todo: 'Set unionByName for the table, if a missing column is to be NULL.',
    });
  }
}

/**
 * The columns that every file has with the type of the table, in order: for these the statistics in the footers hold
 * for the table.
 */
export function storedColumns<T extends { readonly name: string; readonly type: string }>(
  files: readonly AlikeFiles[],
  columns: readonly T[],
  hiveKeys: ReadonlySet<string>,
): T[] {
  const types = files.map((each) => typesOf(each));
  return columns.filter(({ name, type }) => {
    const wanted = name.toLowerCase();
    // Footers write fields of nested columns in this form.
    if (hiveKeys.has(wanted) || wanted.includes(', ')) return false;
    return types.every((each) => each.get(wanted) === type);
  });
}

function typesOf({ columns }: AlikeFiles): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  // For two columns of the same name footers do not tell which is which.
  for (const { name, type } of columns) types.set(name, types.has(name) ? '' : type);
  return types;
}
