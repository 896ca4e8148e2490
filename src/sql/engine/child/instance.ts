/**
 * Opening DuckDB. Every instance that runs anything is locked first: it can open the files that it is locked to and
 * what lies in the engine's own folder, and no setting can be changed any more but the time zone of a connection.
 * Planner and workers are configured alike, but for what `PLANNING` says.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import type { InstanceSettings } from '../messages.ts';
import { literalPath } from '../sql/reader.ts';
import { quotedText } from '../sql/text.ts';

/**
 * Optimizers that are off while planning: with them some plans cannot be serialised or have operators that no
 * SQL can be written for. The list is frozen; tests hold it to every kind of query. Workers have them all on.
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

const PLANNING = `SET disabled_optimizers = ${quotedText(PLANNING_OFF)}`;

/** Not locked yet: nothing of a user may run in it. */
export async function openUnlocked(settings: InstanceSettings): Promise<DuckDBInstance> {
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(settings.threads),
    memory_limit: `${settings.memoryBytes}B`,
    temp_directory: settings.spillBytesMax === 0 ? '' : settings.spillFolder,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    // The system keeps files in memory already; measured: no gain, and it takes from the limit.
    enable_external_file_cache: 'false',
    errors_as_json: 'true',
  });
  // Given with the others it is shown, and not heeded.
  await run(instance, [
    `SET max_temp_directory_size = '${settings.spillBytesMax}B'`,
    `SET allowed_directories = ${pathList(asAskedFor([settings.folder]))}`,
    ...(settings.isPlanning ? [PLANNING] : []),
  ]);
  return instance;
}

/** From now on it sees `files` and its own folder; the folder for spilling is allowed by itself. */
export async function lock(instance: DuckDBInstance, files: readonly string[]): Promise<void> {
  await run(instance, [
    ...(files.length === 0 ? [] : [`SET allowed_paths = ${pathList(asAskedFor(files))}`]),
    'SET enable_external_access = false',
    `SET allowed_configs = ['TimeZone']`,
    'SET lock_configuration = true',
  ]);
}

/** Also as the pattern that means the path: that is what DuckDB asks for. */
function asAskedFor(paths: readonly string[]): readonly string[] {
  return [...new Set([...paths, ...paths.map(literalPath)])];
}

/** Not as a list of constants: binding one takes time that grows with the square of its length. */
function pathList(paths: readonly string[]): string {
  return `from_json(${quotedText(JSON.stringify(paths))}, '["VARCHAR"]')`;
}

async function run(instance: DuckDBInstance, statements: readonly string[]): Promise<void> {
  const connection = await instance.connect();
  try {
    // One text for all: each run of its own costs more than what it does.
    await connection.run(statements.join(';\n'));
  } finally {
    connection.closeSync();
  }
}
