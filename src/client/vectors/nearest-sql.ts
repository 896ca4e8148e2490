/**
 * Writes the SQL of a search for the nearest vectors. All distances are ascending, so that NaN and NULL come last, and
 * ties are broken by the key: the order is total.
 */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { SqlParameter } from '../sql/sql.ts';

export type Vector = readonly number[] | Float32Array | Float64Array;

export const METRICS = ['cosine', 'l2', 'dot'] as const;
/** Smaller is nearer: cosine distance, Euclidean distance, or the negative dot product. */
export type Metric = (typeof METRICS)[number];

export interface NearestOptions {
  readonly table: string;
  /** A column without duplicates. It breaks ties, and is used to fetch `columns`. */
  readonly key: string;
  /** The column that is searched: FLOAT[n] or FLOAT[], all of one length. */
  readonly vector: string;
  readonly to: Vector;
  readonly k: number;
  /** `cosine` if not given. */
  readonly metric?: Metric;
  /** Read late: for few rows only. */
  readonly columns?: readonly string[];
  /**
   * How `columns` are found. By `position`, the default: each task reads them for its own k nearest rows, wherever these are
   * in the files. By `key`: they are read for the k rows of the result, from row groups whose keys may be among theirs, which
   * is less if files are in the order of the key, and everything if they are not. Always by key if k is above 50, and
   * with `first`.
   */
  readonly fetch?: 'position' | 'key';
  /** A condition in SQL; only rows that meet it are searched. */
  readonly where?: string;
  /** The values of `$name` in `where`. */
  readonly params?: Readonly<Record<string, SqlParameter>>;
  /**
   * Finds candidates by another, cheaper vector first, for example a shorter one. The k nearest of them by `vector` are
   * returned.
   */
  readonly first?: {
    readonly vector: string;
    readonly to: Vector;
    readonly candidates: number;
    readonly metric?: Metric;
  };
}

export interface Statement {
  readonly sql: string;
  readonly params: Readonly<Record<string, SqlParameter>>;
}

/** `clusters`: only rows of these clusters are read; null for all. */
export function nearestSql(options: NearestOptions, clusters: readonly number[] | null): Statement {
  const { table, key, vector, to, first, k } = checked(options);
  const { metric = 'cosine', columns = [], where, params = {} } = options;
  const [from, by] = [quoted(table), quoted(key)];
  const within = clusters === null ? '' : `${CLUSTER} IN (${clusters.join(', ')})`;
  const conditions = (searched: string): string =>
    [within, `${quoted(searched)} IS NOT NULL`, where === undefined ? '' : `(${where}\n)`]
      .filter((each) => each !== '')
      .join(' AND ');
  const ranked = (searched: string, name: string, like: Vector, how: Metric): string =>
    `SELECT ${by}, ${distance(how, quoted(searched), `$${name}`, like.length)} AS distance`;
  const ctes: string[] = [];
  const values: Record<string, SqlParameter> = { ...params, millrace_to: to };
  const order = `ORDER BY distance, ${by}`;
  const isByPosition = options.fetch !== 'key' && first === undefined && k <= BY_POSITION_MAX;
  if (isByPosition && columns.length > 0) {
    const list = columns.map((column) => `, ${quoted(column)}`).join('');
    const read = `${ranked(vector, 'millrace_to', to, metric)}${list} FROM ${from}`;
    return { sql: `${read} WHERE ${conditions(vector)} ${order} LIMIT ${k}`, params: values };
  }
  if (first === undefined) {
    ctes.push(
      `best AS (${ranked(vector, 'millrace_to', to, metric)} FROM ${from} WHERE ${conditions(vector)}
  ORDER BY distance, ${by} LIMIT ${k})`,
    );
  } else {
    values['millrace_first'] = first.to;
    const read = within === '' ? '' : ` WHERE ${within}`;
    ctes.push(
      `candidates AS (${ranked(first.vector, 'millrace_first', first.to, first.metric ?? metric)} FROM ${from}
  WHERE ${conditions(first.vector)} ORDER BY distance, ${by} LIMIT ${first.candidates})`,
      `best AS (${ranked(vector, 'millrace_to', to, metric)}
  FROM (SELECT ${by}, ${quoted(vector)} FROM ${from}${read}) JOIN (SELECT ${by} FROM candidates) USING (${by})
  WHERE ${quoted(vector)} IS NOT NULL ORDER BY distance, ${by} LIMIT ${k})`,
    );
  }
  const head = `WITH ${ctes.join(',\n')}\n`;
  if (columns.length === 0) return { sql: `${head}SELECT * FROM best ${order}`, params: values };
  const list = [by, ...columns.map(quoted)];
  const read = within === '' ? '' : ` WHERE ${within}`;
  return {
    sql: `${head}SELECT ${by}, distance, ${columns.map(quoted).join(', ')}
FROM best JOIN (SELECT ${list.join(', ')} FROM ${from}${read}) USING (${by}) ${order}`,
    params: values,
  };
}

/**
 * Up to so many rows DuckDB reads wide columns late by itself, by the position of the rows in their files. More are fetched
 * by their key.
 */
const BY_POSITION_MAX = 50;

/** The column of the folders of an index. */
export const CLUSTER = 'cluster';

/** The clusters whose centroids are nearest. */
export function probeSql(centroids: string, to: Vector, metric: Metric, nprobe: number): Statement {
  const near = distance(metric, 'centroid', '$millrace_to', to.length);
  const order = `ORDER BY ${near}, ${CLUSTER}`;
  return {
    // A number, whatever the table has: it becomes part of the next statement.
    sql: `SELECT CAST(${CLUSTER} AS INTEGER) AS ${CLUSTER} FROM ${quoted(centroids)} ${order} LIMIT ${nprobe}`,
    params: { millrace_to: to },
  };
}

/** ARRAY functions are faster than those of lists, and refuse vectors of another length. */
export function distance(metric: Metric, left: string, right: string, length: number): string {
  const type = `FLOAT[${length}]`;
  return `${FUNCTIONS[metric]}(CAST(${left} AS ${type}), CAST(${right} AS ${type}))`;
}

const FUNCTIONS: Readonly<Record<Metric, string>> = {
  cosine: 'array_cosine_distance',
  l2: 'array_distance',
  dot: 'array_negative_inner_product',
};

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** DuckDB's limit of an ARRAY. */
const LENGTH_MAX = 100_000;
const ROWS_MAX = 1_000_000;

function checked(options: NearestOptions): NearestOptions {
  const { to, k, first, metric, fetch, params = {} } = options;
  checkVector(to, 'to');
  checkMetric(metric);
  checkWhole(k, 'k', 0, ROWS_MAX);
  if (fetch !== undefined && fetch !== 'position' && fetch !== 'key')
    throw bad(`'${String(fetch)}' is not a valid value for 'fetch'.`, 'Use position or key.');
  if (first !== undefined) {
    checkVector(first.to, 'first.to');
    checkMetric(first.metric);
    checkWhole(first.candidates, 'first.candidates', 0, ROWS_MAX);
  }
  const own = Object.keys(params).find((name) => name.startsWith('millrace_'));
  if (own !== undefined) throw bad(`A parameter cannot be called '${own}'.`, 'Use another name.');
  return options;
}

function checkVector(vector: Vector, name: string): void {
  const isList = Array.isArray(vector) || ArrayBuffer.isView(vector);
  if (!isList || vector.length === 0 || vector.length > LENGTH_MAX)
    throw bad(
      `'${name}' is not a vector of 1 to ${LENGTH_MAX} numbers.`,
      'Use a list of numbers, a Float32Array or a Float64Array.',
    );
  const at = vector.findIndex((each: unknown) => !Number.isFinite(each));
  if (at >= 0)
    throw bad(
      `'${name}' has ${String(vector[at])} at position ${at}, which is not a finite number.`,
      'Check what computed the vector.',
    );
}

export function checkMetric(metric: Metric | undefined): void {
  if (metric === undefined || METRICS.includes(metric)) return;
  throw bad(`'${metric as string}' is not a valid metric.`, `Use ${METRICS.join(', ')}.`);
}

export function checkWhole(value: number, name: string, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw bad(
    `'${String(value)}' is not a valid value for '${name}'.`,
    `Use a whole number from ${min} to ${max}.`,
  );
}

export function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}
