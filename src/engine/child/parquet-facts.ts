/** What the footers of Parquet files say: rows, row groups, bytes, and whether the files go together. */
import type { TableDescription } from '../engine.ts';
import { isOn, type ReaderOption } from '../sql/options.ts';
import { fileList } from '../sql/reader.ts';
import { quotedText } from '../sql/text.ts';
import { type Connection, Failed } from './work.ts';

interface Facts {
  readonly files: TableDescription['files'];
  bytesOf(column: string): number;
  /** About how many different values a column has; undefined when the footers do not say. */
  distinctOf(column: string): number | undefined;
}

export async function parquetFacts(
  connection: Connection,
  files: readonly string[],
  columns: readonly { readonly name: string }[],
  options: readonly ReaderOption[],
): Promise<Facts> {
  const sizes = await sizesByName(connection, files);
  const names = await namesInFiles(connection, files);
  if (!isOn(options, 'union_by_name')) checkNames(names, columns);
  // With such a column of their own, files cannot be read by row number.
  const isNumbered = names.some((each) => each.names.includes('file_row_number'));
  const rows = await rowsByFile(connection, files);
  return {
    files: files.map((file) => {
      const groups = rows.get(file);
      if (isNumbered || groups === undefined) return { rows: null, groups: [] };
      return { rows: groups.reduce((sum, each) => sum + each, 0), groups };
    }),
    bytesOf: (column) => sizes.get(column.toLowerCase())?.bytes ?? 0,
    distinctOf: (column) => sizes.get(column.toLowerCase())?.distinct,
  };
}

async function rowsByFile(
  connection: Connection,
  files: readonly string[],
): Promise<ReadonlyMap<string, number[]>> {
  const list = fileList(files);
  const rows = await connection.texts(
    `SELECT f.file_name, coalesce(g.groups, '[]')
     FROM parquet_file_metadata(${list}) AS f
     LEFT JOIN (
       SELECT file_name, to_json(list(row_group_num_rows ORDER BY row_group_id))::VARCHAR AS groups
       FROM (SELECT file_name, row_group_id, row_group_num_rows FROM parquet_metadata(${list})
             WHERE column_id = 0)
       GROUP BY file_name
     ) AS g ON g.file_name = f.file_name`,
  );
  return new Map(
    rows.map(([file, groups]) => [String(file), JSON.parse(String(groups)) as number[]]),
  );
}

interface ColumnSize {
  readonly bytes: number;
  readonly distinct: number | undefined;
}

/**
 * `path_in_schema` names the parts of a nested column one after the other. A row group tells how many different
 * values it has only if it has a dictionary; groups that span the same values are taken to have the same ones.
 */
async function sizesByName(
  connection: Connection,
  files: readonly string[],
): Promise<ReadonlyMap<string, ColumnSize>> {
  const rows = await connection.texts(
    `SELECT lower(split_part(path_in_schema, ', ', 1)), sum(total_compressed_size)::VARCHAR,
       CASE WHEN count(*) > count(stats_distinct_count) OR count(DISTINCT path_in_schema) > 1 THEN NULL
         WHEN count(DISTINCT (stats_min_value, stats_max_value)) = 1 THEN max(stats_distinct_count)
         ELSE sum(stats_distinct_count) END::VARCHAR
     FROM parquet_metadata(${fileList(files)}) GROUP BY 1`,
  );
  return new Map(
    rows.map(([name, bytes, distinct]) => [
      String(name),
      { bytes: Number(bytes), distinct: distinct === null ? undefined : Number(distinct) },
    ]),
  );
}

interface NamedFiles {
  /** One of those that have these columns. */
  readonly file: string;
  /** In lower case. */
  readonly names: readonly string[];
}

/** Each set of columns once. */
async function namesInFiles(
  connection: Connection,
  files: readonly string[],
): Promise<NamedFiles[]> {
  const rows = await connection.texts(
    `SELECT min(file_name), tree FROM (
       SELECT file_name, to_json(list([lower(name), coalesce(num_children, 0)::VARCHAR]
         ORDER BY column_id))::VARCHAR AS tree
       FROM parquet_schema(${fileList(files)}) GROUP BY file_name
     ) GROUP BY tree`,
  );
  return rows.map(([file, tree]) => ({
    file: String(file),
    names: topNames(JSON.parse(String(tree)) as [string, string][]),
  }));
}

/** The tree is written depth first: each element, then its children. The first one is the file itself. */
function topNames(tree: readonly (readonly [name: string, children: string])[]): string[] {
  const names: string[] = [];
  const open: number[] = [];
  for (const [name, children] of tree) {
    if (open.length === 1) names.push(name);
    const last = open.length - 1;
    if (last >= 0) open[last] = (open[last] ?? 0) - 1;
    if (Number(children) > 0) open.push(Number(children));
    while (open.at(-1) === 0) open.pop();
  }
  return names;
}

function checkNames(
  files: readonly NamedFiles[],
  columns: readonly { readonly name: string }[],
): void {
  const everywhere = new Set(files.flatMap(({ names }) => names));
  for (const { name } of columns) {
    const wanted = name.toLowerCase();
    // In none of them: it comes from the path.
    if (!everywhere.has(wanted)) continue;
    const lacking = files.find(({ names }) => !names.includes(wanted));
    if (lacking === undefined) continue;
    throw new Failed({
      code: 'schema_mismatch',
      what: `The file ${quotedText(lacking.file)} has no column "${name}".`,
      why: 'Another file of the same table has it.',
      todo: 'Set unionByName for the table, if a missing column is to be NULL.',
    });
  }
}
