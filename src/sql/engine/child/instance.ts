/**
 * Opens DuckDB. Every instance is locked before it runs anything: it can open the given files and those in the
 * engine's own folder, and no setting can be changed but the time zone of a connection. Planner and workers have the
 * same configuration except for `PLANNING`.
 */
import { quotedText } from '../../plan/index.ts';
import { DuckDBInstance } from '@duckdb/node-api';
import { textDecoder } from '@duckdb/node-api/lib/vectors/dataAccessors.js';
import { keepMarks } from '../../../kit/index.ts';
import type { InstanceSettings } from '../messages.ts';
import { literalPath } from '../sql/reader.ts';

keepMarks(textDecoder);

/**
 * Optimizers that are disabled for planning: with them some plans cannot be serialised, or have operators that cannot
 * be written as SQL. The list is frozen; tests cover it with every kind of query. Workers have all optimizers
 * enabled.
 */
const PLANNING_OFF = [
  'column_lifetime',
  'compressed_materialization',
  'late_materialization',
  'join_filter_pushdown',
  'in_clause',
  'build_side_probe_side',
  'common_aggregate',
  'top_n_window_elimination',
].join(',');

/** EXPLAIN shows the plan that is serialised, operator by operator: the estimates are matched by its shape. */
const PLANNING = `SET disabled_optimizers = ${quotedText(PLANNING_OFF)};
SET GLOBAL explain_output = 'optimized_only'`;

/** Not locked yet: no user's SQL may run in it. */
export async function openUnlocked(settings: InstanceSettings): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(settings.threads),
    memory_limit: `${settings.memoryBytes}B`,
    temp_directory: settings.spillBytesMax === 0 ? '' : settings.spillFolder,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    // The operating system caches files already. Measured: no gain, and it counts towards the memory limit.
    enable_external_file_cache: 'false',
    errors_as_json: 'true',
  });
  // As an option of `create` it is shown but has no effect.
  await run(instance, [
    `SET max_temp_directory_size = '${settings.spillBytesMax}B'`,
    `SET allowed_directories = ${pathList(asAskedFor([settings.folder]))}`,
    ...(settings.isPlanning ? [PLANNING] : []),
  ]);
  return instance;
}

export interface Locks {
  readonly isPinned?: boolean | undefined;
  /** Instead of those of its settings. */
  readonly hasOneThread?: boolean | undefined;
}

/**
 * Restricts the instance to `files` and its own folder. The spill folder is always allowed. Only where the files are
 * pinned are their footers cached: DuckDB itself goes by the time of their last change.
 */
export async function lock(
  instance: DuckDBInstance,
  files: readonly string[],
  { isPinned = false, hasOneThread = false }: Locks = {},
): Promise<void> {
  await run(instance, [
    ...(hasOneThread ? ['SET GLOBAL threads = 1'] : []),
    ...(isPinned ? ['SET GLOBAL parquet_metadata_cache = true'] : []),
    ...(files.length === 0 ? [] : [`SET allowed_paths = ${pathList(asAskedFor(files))}`]),
    'SET enable_external_access = false',
    `SET allowed_configs = ['TimeZone']`,
    'SET lock_configuration = true',
  ]);
}

/** Also as the glob that matches only this path, because that is what DuckDB opens. */
function asAskedFor(paths: readonly string[]): readonly string[] {
  return [...new Set([...paths, ...paths.map(literalPath)])];
}

/** Not a list of constants: binding one takes time quadratic in its length. */
function pathList(paths: readonly string[]): string {
  return `from_json(${quotedText(JSON.stringify(paths))}, '["VARCHAR"]')`;
}

async function run(instance: DuckDBInstance, statements: readonly string[]): Promise<void> {
  const connection = await instance.connect();
  try {
    // All in one call: each call costs more than the statement itself.
    await connection.run(statements.join(';\n'));
  } finally {
    connection.closeSync();
  }
}
