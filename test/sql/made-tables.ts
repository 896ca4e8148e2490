/** Tables that a test file makes for itself, for the oracle and for an engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineQueries } from './engine-queries.ts';
import { Oracle } from './oracle.ts';

export interface MadeTables {
  readonly oracle: Oracle;
  readonly engine: EngineQueries;
  close(): Promise<void>;
}

/** Each table from a query, in Parquet with row groups that can be skipped. */
export async function madeTables(
  made: Readonly<Record<string, string>>,
  options = '',
): Promise<MadeTables> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tables-'));
  const paths: Record<string, string> = {};
  const readers: Record<string, string> = {};
  const writer = await Oracle.open({}, { threads: 1 });
  for (const [name, sql] of Object.entries(made)) {
    paths[name] = join(folder, `${name}.parquet`);
    readers[name] = `read_parquet('${paths[name]}')`;
    await writer.answer(`COPY (${sql}) TO '${paths[name]}' (ROW_GROUP_SIZE 2048${options})`);
  }
  writer.close();
  const oracle = await Oracle.open(readers, { threads: 1 });
  const engine = new EngineQueries(folder, paths);
  return {
    oracle,
    engine,
    close: async () => {
      await engine.close();
      oracle.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
