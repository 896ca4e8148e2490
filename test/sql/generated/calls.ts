/** Calls of every function that DuckDB has, from its own list (`duckdb_functions()`), over samples of every type. */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Dice } from '../random/dice.ts';
import type { Sample } from './sample-values.ts';

export interface Overload {
  readonly name: string;
  readonly kind: 'scalar' | 'macro' | 'aggregate';
  /** Null where the list does not say. */
  readonly types: readonly (string | null)[];
  /** Of further arguments; null for none. */
  readonly varargs: string | null;
}

/** These tell of the process, the moment or the text they run in, wait, write, or make rows. */
const OF_THE_PROCESS = new RegExp(
  `^(${[
    ...[
      'current_',
      'get_current',
      'getvariable',
      'getenv',
      'pg_',
      'has_',
      'txid_',
      'inet_',
      'obj_',
    ],
    ...[
      'shobj_',
      'col_description',
      'format_type',
      'format_pg_type',
      'map_to_pg_oid',
      '__internal',
    ],
    ...[
      'in_search_path',
      'get_block_size',
      'which_secret',
      'parse_',
      'sleep',
      'write_',
      'add_parquet',
    ],
    ...['json_execute', 'json_serialize_', 'json_deserialize_', 'create_sort_key', 'remap_struct'],
    ...['generate_subscripts', 'regexp_split_to_table'],
  ].join('|')})`,
);
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['now', 'today', 'transaction_timestamp', 'ago', 'age', 'user', 'session_user', 'version'],
  ...[
    'stats',
    'vector_type',
    'alias',
    'error',
    'unnest',
    'combine',
    'finalize',
    'sql_auto_complete',
  ],
  // Its values are of the type TYPE, which cannot be written down and read again.
  'get_type',
  // They make values of any length.
  ...['generate_series', 'range', 'repeat', 'lpad', 'rpad', 'bar', 'bitstring'],
  // Any of several answers is right.
  ...['mode', 'grade_up', 'list_grade_up', 'array_grade_up', 'reservoir_quantile'],
  ...['approx_quantile', 'approx_top_k', 'approx_count_distinct'],
  // Macros over aggregates that depend on an order.
  ...['json_group_array', 'json_group_object', 'json_group_structure'],
]);

export async function overloads(connection: DuckDBConnection): Promise<readonly Overload[]> {
  const reader = await connection.runAndReadAll(
    `SELECT DISTINCT function_name, function_type, parameter_types, varargs FROM duckdb_functions()
     WHERE function_type IN ('scalar', 'macro', 'aggregate')
       AND coalesce(stability, 'CONSISTENT') = 'CONSISTENT' ORDER BY ALL`,
  );
  const rows = reader.getRowsJson() as unknown as readonly [
    string,
    Overload['kind'],
    (string | null)[],
    string | null,
  ][];
  return rows
    .filter(([name]) => !OF_THE_PROCESS.test(name) && !LEFT_OUT.has(name))
    .map(([name, kind, types, varargs]) => ({ name, kind, types, varargs }))
    .filter((overload) => !isFaulty(overload));
}

/** DuckDB's own faults: a BIGNUM with another sign is not equal to itself, a time moved by years has no text. */
function isFaulty({ name, types }: Overload): boolean {
  if (name === '-' || name === 'subtract') return types.includes('BIGNUM');
  return name === 'timezone' && types.includes('TIME WITH TIME ZONE');
}

const SMALL = ['id', 'CAST(id AS INTEGER)', '1', '2', '(id % 3)'];

/** Types that generic parameters are tried with. */
const ANY =
  /^(int|varchar|double|date|struct|int_array|timestamp|bool|dec_9_4|interval|union|map|blob|uuid|hugeint|small_enum|varchar_array|timestamp_tz|fixed_int_array)$/;

/** Arguments that a parameter of this type may be given, by chance. */
function argument(type: string | null, samples: readonly Sample[], dice: Dice): string {
  const named = (pattern: RegExp): string =>
    dice.pick(samples.filter(({ name }) => pattern.test(name))).sql;
  const typed = (wanted: string): string | null => {
    const fit = samples.filter(({ type: own }) => own === wanted || own.startsWith(`${wanted}(`));
    return fit.length === 0 ? null : dice.pick(fit).sql;
  };
  switch (type) {
    case null:
      return dice.chance(30) ? dice.pick([...SMALL, "'a'", '0.5']) : named(ANY);
    case 'ANY':
    case 'T':
    case 'V':
      return dice.chance(20) ? dice.pick([...SMALL, "'a'", 'NULL']) : named(ANY);
    case 'K':
      return "'key1'";
    case 'MAP(K, V)':
      return named(/^map$/);
    case 'ANY[]':
    case 'T[]':
    case 'K[]':
    case 'V[]':
      return named(/^(int_array|varchar_array|double_array|date_array|array_of_structs)$/);
    case 'T[][]':
      return named(/^nested_int_array$/);
    case 'LAMBDA':
      return dice.pick(['lambda x: x', 'lambda x: x IS NOT NULL', 'lambda x, y: x']);
    case 'FLOAT[ANY]':
    case 'FLOAT[3]':
    case 'FLOAT[]':
      return typed('FLOAT[3]') ?? 'NULL';
    case 'DOUBLE[ANY]':
    case 'DOUBLE[3]':
      return typed('DOUBLE[3]') ?? 'NULL';
    case 'VARCHAR':
      return dice.chance(50)
        ? named(/^varchar$/)
        : dice.pick(["'a'", "'year'", "'%Y-%m-%d'", "'$.a'", "'UTC'", "'[a-z]'", "'x'", "'i'"]);
    case 'INTEGER':
    case 'BIGINT':
    case 'TINYINT':
    case 'SMALLINT':
      return dice.chance(70) ? dice.pick(SMALL) : (typed(type) ?? '1');
    case 'DOUBLE':
      return dice.chance(40) ? dice.pick(['0.5', 'id', 'id / 21']) : (typed(type) ?? '0.5');
    default:
      return typed(type) ?? named(ANY);
  }
}

/** A call as SQL; whether DuckDB takes it is for DuckDB to say. */
export function callOf(overload: Overload, samples: readonly Sample[], dice: Dice): string {
  const { name, types, varargs } = overload;
  const more = varargs === null ? 0 : dice.below(3);
  const all = [...types, ...Array.from({ length: more }, () => varargs)];
  const args = all.map((type) => argument(type, samples, dice));
  if (overload.kind === 'aggregate') return aggregateOf(name, args);
  const [left, right] = args;
  if (/^[^a-z_]+$/i.test(name) && left !== undefined)
    return right === undefined ? `(${name} ${left})` : `(${left} ${name} ${right})`;
  const given = NAMED.has(name) ? args.map((arg, at) => namedArgument(name, arg, at)) : args;
  return `"${name}"(${given.join(', ')})`;
}

/** Functions whose arguments have names. */
const NAMED: ReadonlySet<string> = new Set([
  'struct_pack',
  'struct_insert',
  'struct_update',
  'union_value',
]);

function namedArgument(name: string, arg: string, at: number): string {
  const isFirst = at === 0 && (name === 'struct_insert' || name === 'struct_update');
  return isFirst ? arg : `${['n', 'a', 'm'][at] ?? 'z'} := ${arg}`;
}

/** Which of equal rows counts, and in which order, is written out. */
function aggregateOf(name: string, args: readonly string[]): string {
  if (BESIDE.has(name)) {
    return `"${name}"(${[args[0], 'id', ...args.slice(2).map(() => '2')].join(', ')})`;
  }
  // How many values they return: DuckDB takes the number from the first row that it meets.
  if (name === 'min' || name === 'max')
    return `"${name}"(${[args[0], ...args.slice(1).map(() => '2')].join(', ')})`;
  return `"${name}"(${args.join(', ')}${IN_ORDER.has(name) ? ' ORDER BY id' : ''})`;
}

const BESIDE: ReadonlySet<string> = new Set([
  ...['arg_max', 'arg_min', 'argmax', 'argmin', 'max_by', 'min_by'],
  ...['arg_max_null', 'arg_min_null', 'arg_max_nulls_last', 'arg_min_nulls_last'],
]);
const IN_ORDER: ReadonlySet<string> = new Set([
  ...['first', 'last', 'any_value', 'arbitrary', 'list', 'array_agg'],
  ...['string_agg', 'group_concat', 'listagg'],
]);
