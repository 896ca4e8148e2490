/** Reads the keys of small tables while a query is planned. */
import { type KeyLookup, type PinnedTable, quotedName, wholeFiles } from '../../plan/index.ts';
import { scanQuery } from './relation.ts';

/** More keys choose hardly any row groups of a table. */
const KEYS_MAX = 10_000;

/** One statement for all: it has one row, with a column for each lookup. */
export function lookupStatement(
  lookups: readonly KeyLookup[],
  tables: readonly PinnedTable[],
): string | null {
  if (lookups.length === 0) return null;
  const columns = lookups.map(({ keys }) => `(\n${keysQuery(keys, tables)}\n)`);
  return `SELECT ${columns.join(',\n')}`;
}

/** In ascending order, as JSON; NULL if there are none, or too many. */
function keysQuery({ sql, type, scan }: KeyLookup['keys'], tables: readonly PinnedTable[]): string {
  const table = tables.find(({ name }) => name === scan.table);
  const files = table?.files.filter(({ path }) => scan.files?.includes(path) ?? true) ?? [];
  const key = type === 'DATE' ? "c0 - DATE '1970-01-01'" : 'c0';
  return `WITH ${quotedName(scan.relation)} AS NOT MATERIALIZED (
${scanQuery(scan, wholeFiles(files))}
), keys AS (SELECT DISTINCT TRY_CAST(${key} AS BIGINT) AS k FROM (
${sql}
) AS q WHERE c0 IS NOT NULL)
SELECT CASE WHEN count(*) <= ${KEYS_MAX} THEN to_json(list(k ORDER BY k))::VARCHAR END FROM keys`;
}
