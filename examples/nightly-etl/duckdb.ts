import { DuckDBInstance, listValue } from '@duckdb/node-api';

export type Parameters = Readonly<Record<string, string | readonly string[]>>;

/** One statement on a DuckDB of its own, in memory. Files are named by parameters. */
export async function query(
  sql: string,
  parameters: Parameters,
): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const values = Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : listValue([...value]),
    ]);
    const reader = await connection.runAndReadAll(sql, Object.fromEntries(values));
    return reader.getRowObjectsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
