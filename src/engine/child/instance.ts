/** Opening DuckDB. What is set here cannot be set otherwise afterwards. */
import { DuckDBInstance } from '@duckdb/node-api';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { InstanceSettings } from '../messages.ts';
import { literalPath } from '../sql/reader.ts';
import { quotedText, textList } from '../sql/text.ts';

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

export function openInstance(settings: InstanceSettings): Promise<DuckDBInstance> {
  return open(settings, async (connection) => {
    // The names of temporary files are DuckDB's own business, their folder is allowed by itself.
    if (settings.folders !== null)
      await lockTo(connection, 'allowed_directories', settings.folders);
  });
}

/** Sees nothing but `files`, and plans as the reader of plans expects it. */
export function openPlanningInstance(
  settings: InstanceSettings,
  files: readonly string[],
): Promise<DuckDBInstance> {
  return open(settings, async (connection) => {
    await connection.run(
      `SET disabled_optimizers = ${quotedText(PLANNING_OFF)}; SET explain_output = 'optimized_only'`,
    );
    // A path is asked for as the pattern that means it.
    const patterns = files.map(literalPath);
    await lockTo(connection, 'allowed_paths', [...new Set([...files, ...patterns])]);
  });
}

async function open(
  settings: InstanceSettings,
  prepare: (connection: DuckDBConnection) => Promise<void>,
): Promise<DuckDBInstance> {
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
  const connection = await instance.connect();
  try {
    // Given with the others it is shown, and not heeded.
    await connection.run(`SET max_temp_directory_size = '${settings.spillBytesMax}B'`);
    await prepare(connection);
  } finally {
    connection.closeSync();
  }
  return instance;
}

/** The time zone is the one thing that a connection may still choose. */
async function lockTo(
  connection: DuckDBConnection,
  setting: 'allowed_directories' | 'allowed_paths',
  places: readonly string[],
): Promise<void> {
  await connection.run(`SET ${setting} = ${textList(places)}`);
  await connection.run(`SET enable_external_access = false`);
  await connection.run(`SET allowed_configs = ['TimeZone']`);
  await connection.run(`SET lock_configuration = true`);
}
