/**
 * Few rows of text as a file, written by DuckDB. Taking a text over into JavaScript costs half a microsecond and more,
 * however short it is: 18,000 rows of four columns take 16 ms one by one, and 5 ms as a file.
 */
import { quotedText } from '../../plan/index.ts';
import type { SqlType } from '../../plan/index.ts';
import type { CopiedText } from '../messages.ts';

export interface TextLines {
  /** A query with one text for each row, to which a line break is added. */
  readonly lines: string;
  /** What is left out at the end of them. */
  readonly cutBytes: number;
  /** Of the columns `c0`, `c1`, ... of `rows`. */
  readonly types: readonly SqlType[];
  /** The query that the texts are made of. */
  readonly rows: string;
  readonly rowCount: number;
  readonly file: string;
}

/** More rows are sent while they are read. */
const ROWS_MAX = 100_000;
const BYTES_MAX: number = 64 * 2 ** 20;
/** As they are: nothing is quoted, and nothing escaped. */
const RAW = `FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '', USE_TMP_FILE false`;
/** A control character is written as `\u0001`. */
const ESCAPED_BYTES = 6;
/** More than any value of a type below takes, with its name and punctuation apart. */
const VALUE_BYTES = 64;

const SHORT: ReadonlySet<string> = new Set([
  ...['BOOLEAN', 'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT'],
  ...['UINTEGER', 'UBIGINT', 'UHUGEINT', 'FLOAT', 'DOUBLE', 'DECIMAL', 'DATE', 'TIME', 'UUID'],
  ...['TIMESTAMP', 'TIMESTAMP WITH TIME ZONE'],
]);

/** Null if there are too many, or if nothing says how long they may be. */
export function copiedText({
  lines,
  cutBytes,
  types,
  rows,
  rowCount,
  file,
}: TextLines): CopiedText | null {
  const isBounded = types.every(({ id }) => id === 'VARCHAR' || SHORT.has(id));
  if (!isBounded || rowCount > ROWS_MAX) return null;
  const lengths = types.flatMap(({ id }, at) =>
    id === 'VARCHAR' ? [`coalesce(max(strlen(c${at})), 0)`] : [],
  );
  const width = `${ESCAPED_BYTES} * (${['0', ...lengths].join(' + ')}) + ${VALUE_BYTES * types.length}`;
  return {
    bound: `SELECT CAST(count(*) * CAST(${width} AS HUGEINT) AS VARCHAR) FROM (${rows}) AS r`,
    bytesMax: BYTES_MAX,
    copy: `COPY (${lines}) TO ${quotedText(file)} (${RAW})`,
    file,
    cutBytes,
  };
}
