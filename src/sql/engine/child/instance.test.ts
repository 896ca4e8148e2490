import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { InstanceSettings } from '../messages.ts';
import { quotedPath } from '../sql/reader.ts';
import { lock, openUnlocked } from './instance.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-instance-'));
const at = (name: string): string => join(folder, name);
mkdirSync(at('own'));
for (const name of ['a.csv', 'b.csv', 'c[1].csv']) writeFileSync(at(name), 'x\n1\n');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const settings = (isPlanning: boolean, own: string): InstanceSettings => ({
  ...{ memoryBytes: 2 ** 27, threads: 1, spillFolder: at('spill'), spillBytesMax: 2 ** 30 },
  ...{ folder: own, isPlanning },
});

async function locked(
  isPlanning: boolean,
  files: readonly string[],
  own = at('own'),
): Promise<DuckDBConnection> {
  const instance = await openUnlocked(settings(isPlanning, own));
  await lock(instance, files);
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  return connection;
}

async function rows(connection: DuckDBConnection, sql: string): Promise<unknown[][]> {
  return (await connection.runAndReadAll(sql)).getRows();
}

test('gives planner and worker the same settings except for the optimizers and what EXPLAIN shows', async () => {
  const of = async (isPlanning: boolean): Promise<Map<unknown, unknown>> => {
    const connection = await locked(isPlanning, [at('a.csv')]);
    const found = await rows(connection, 'SELECT name, value FROM duckdb_settings()');
    return new Map(found.map(([name, value]) => [name, value]));
  };
  const [planner, worker] = [await of(true), await of(false)];
  expect(planner.size).toBeGreaterThan(150);
  const names = new Set([...planner.keys(), ...worker.keys()]);
  const different = [...names].filter((name) => planner.get(name) !== worker.get(name));
  expect(new Set(different)).toEqual(new Set(['disabled_optimizers', 'explain_output']));
  expect(worker.get('enable_external_access')).toBe('false');
  expect(worker.get('lock_configuration')).toBe('true');
});

test('footers are cached only where the files are pinned', async () => {
  const isCached = async (isPinned: boolean): Promise<unknown> => {
    const instance = await openUnlocked(settings(true, at('own')));
    onTestFinished(() => instance.closeSync());
    await lock(instance, [at('a.csv')], { isPinned });
    const connection = await instance.connect();
    onTestFinished(() => connection.closeSync());
    return (await rows(connection, `SELECT current_setting('parquet_metadata_cache')`))[0]?.[0];
  };
  expect([await isCached(true), await isCached(false)]).toEqual([true, false]);
});

test("the own folder may have a name like [a] *pattern?, and a quote's", async () => {
  const own = at("it's [an] *odd? one");
  mkdirSync(own);
  const connection = await locked(false, [], own);
  const quoted = own.replaceAll("'", "''");
  await connection.run(`COPY (SELECT 1 AS x) TO '${quoted}/x.parquet'`);
  expect(await rows(connection, `FROM ${quotedPath(join(own, 'x.parquet'))}`)).toEqual([[1]]);
});

test.each([true, false])(
  'only the files and the own folder can be opened (planning: %s)',
  async (isPlanning) => {
    const connection = await locked(isPlanning, [at('a.csv'), at('c[1].csv')]);
    expect(await rows(connection, `FROM '${at('a.csv')}'`)).toEqual([[1n]]);
    expect(await rows(connection, `FROM '${at('c[[]1].csv')}'`)).toEqual([[1n]]);
    await connection.run(`COPY (SELECT 1) TO '${at('own/x.parquet')}'`);
    for (const sql of [
      `FROM '${at('b.csv')}'`,
      `FROM '${at('own/../b.csv')}'`,
      `FROM '${at('*.csv')}'`,
      `COPY (SELECT 1) TO '${at('x.parquet')}'`,
      `ATTACH '${at('x.duckdb')}'`,
      `INSTALL httpfs`,
      `LOAD '${at('x.so')}'`,
      `SET allowed_directories = ['/']`,
      `SET enable_external_access = true`,
      `RESET allowed_paths`,
    ])
      expect([sql, await connection.run(sql).then(() => 'done', String)]).toEqual([
        sql,
        expect.stringMatching(/disabled|locked|Cannot/i),
      ]);
  },
);
