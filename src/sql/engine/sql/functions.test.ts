/** Every function of the DuckDB at hand is judged: allowed in a query, or refused for a reason that stands here. */
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, expect, test } from 'vitest';
import { CALLABLE_NAMES, mayCall, tableArguments } from './functions.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** In expressions. */
const REFUSED = {
  'tells of settings, other queries or the catalog': words(`
    current_setting current_query getvariable get_block_size pg_get_viewdef pg_get_constraintdef col_description
    obj_description shobj_description nextval currval`),
  'binds SQL in a text': words('json_serialize_plan'),
  'writes a log': words('write_log'),
  'keeps a slot busy': words('sleep_ms pg_sleep'),
  'takes bytes on trust': words(`
    variant_bytes_to_variant __internal_compress_integral_ubigint __internal_compress_integral_uinteger
    __internal_compress_integral_usmallint __internal_compress_integral_utinyint __internal_compress_string_hugeint
    __internal_compress_string_ubigint __internal_compress_string_uhugeint __internal_compress_string_uinteger
    __internal_compress_string_usmallint __internal_compress_string_utinyint __internal_decompress_integral_bigint
    __internal_decompress_integral_hugeint __internal_decompress_integral_integer
    __internal_decompress_integral_smallint __internal_decompress_integral_ubigint
    __internal_decompress_integral_uhugeint __internal_decompress_integral_uinteger
    __internal_decompress_integral_usmallint __internal_decompress_string`),
};

/** After FROM. */
const REFUSED_TABLES = {
  'opens files': words(`
    read_blob read_csv read_csv_auto read_duckdb read_json read_json_auto read_json_objects read_json_objects_auto
    read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_text parquet_bloom_probe parquet_file_metadata
    parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan parquet_schema sniff_csv glob
    sql_auto_complete`),
  'takes pointers or names of tables for values': words(
    'arrow_scan arrow_scan_dumb seq_scan query_table summary',
  ),
  'runs or parses SQL in a text': words('query json_execute_serialized_sql check_peg_parser'),
  'changes what DuckDB does': words(`
    checkpoint force_checkpoint disable_logging enable_logging disable_profiling enable_profiling disable_peg_parser
    enable_peg_parser truncate_duckdb_logs`),
  'tells of settings, secrets, logs, the machine or other queries': words(`
    duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints duckdb_databases
    duckdb_dependencies duckdb_extensions duckdb_external_file_cache duckdb_indexes duckdb_log_contexts duckdb_logs
    duckdb_logs_parsed duckdb_memory duckdb_prepared_statements duckdb_profiling_settings duckdb_schemas
    duckdb_secret_types duckdb_secrets duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables
    duckdb_temporary_files duckdb_variables duckdb_views pragma_database_size pragma_metadata_info pragma_platform
    pragma_show pragma_storage_info pragma_table_info pragma_user_agent which_secret`),
};

let listed: ReadonlyMap<string, ReadonlySet<string>>;

beforeAll(async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const found = await connection.runAndReadAll(
    'SELECT DISTINCT function_type, lower(function_name) FROM duckdb_functions()',
  );
  connection.closeSync();
  instance.closeSync();
  const byType = new Map<string, Set<string>>();
  for (const [type, name] of found.getRows() as string[][]) {
    if (type === undefined || name === undefined) continue;
    byType.set(type, (byType.get(type) ?? new Set()).add(name));
  }
  listed = byType;
});

const namesOf = (...types: readonly string[]): readonly string[] =>
  types.flatMap((type) => [...(listed.get(type) ?? [])]);

test('knows every kind of function', () => {
  expect([...listed.keys()].toSorted()).toEqual([
    ...['aggregate', 'macro', 'pragma', 'scalar', 'table', 'table_macro'],
  ]);
});

test('every function for expressions is either allowed or refused with a reason', () => {
  const refused = new Set(Object.values(REFUSED).flat());
  const names = namesOf('scalar', 'aggregate', 'macro');
  expect(names.length).toBeGreaterThan(700);
  expect(names.filter((name) => mayCall(name) === refused.has(name))).toEqual([]);
  expect([...refused].filter((name) => !names.includes(name))).toEqual([]);
});

test('every table function is either allowed or refused with a reason', () => {
  const refused = new Set(Object.values(REFUSED_TABLES).flat());
  const names = namesOf('table', 'table_macro');
  expect(names.length).toBeGreaterThan(80);
  const isAllowed = (name: string): boolean => tableArguments(name) !== null;
  expect(names.filter((name) => isAllowed(name) === refused.has(name))).toEqual([]);
  expect([...refused].filter((name) => !names.includes(name))).toEqual([]);
});

test('allows only functions that exist', () => {
  const names = new Set([...namesOf(...listed.keys()), 'unlist', 'struct']);
  expect(CALLABLE_NAMES.filter((name) => !names.has(name))).toEqual([]);
});

test('functions called by a name in a string are aggregates only', () => {
  for (const name of Object.values({ ...REFUSED, ...REFUSED_TABLES }).flat())
    expect(namesOf('aggregate')).not.toContain(name);
});
