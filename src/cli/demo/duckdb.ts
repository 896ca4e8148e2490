import { DuckDBInstance } from '@duckdb/node-api';

export type Row = Readonly<Record<string, string | number | bigint>>;

const SETTINGS: Readonly<Record<string, string>> = {
  // Several of them work on this machine at once.
  threads: '1',
  memory_limit: '512MiB',
  // Nothing is fetched from anywhere.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
};

/** One statement on a DuckDB of its own, in memory, until the signal aborts. */
export async function query(sql: string, parameters: Row, signal: AbortSignal): Promise<Row[]> {
  signal.throwIfAborted();
  const instance = await DuckDBInstance.create(':memory:', SETTINGS);
  const connection = await instance.connect();
  const interrupt = (): void => connection.interrupt();
  signal.addEventListener('abort', interrupt, { once: true });
  try {
    signal.throwIfAborted();
    const reader = await connection.runAndReadAll(sql, parameters);
    return reader.getRowObjectsJS() as Row[];
  } finally {
    signal.removeEventListener('abort', interrupt);
    connection.closeSync();
    instance.closeSync();
  }
}

/** A path in which DuckDB is to see no pattern. */
export function literally(path: string): string {
  return path.replaceAll(/[*?[]/g, '[$&]');
}
