import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../messages.ts';
import { quotedPath } from '../sql/reader.ts';
import { Instances } from './instances.ts';
import { within } from './sandbox.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-sandbox-'));
const at = (name: string): string => join(folder, name);
const settings = {
  ...{ memoryBytes: 2 ** 27, threads: 1, spillFolder: at('spill'), spillBytesMax: 2 ** 30 },
  ...{ folder: at('own'), isPlanning: false },
};

beforeAll(async () => {
  mkdirSync(at('own'));
  await write(1);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function write(value: number): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT ${value} AS x) TO ${quotedPath(at('a.parquet'))}`);
  instance.closeSync();
}

const SELECT = `SELECT * FROM read_parquet([${quotedPath(at('a.parquet'))}])`;

function sandbox(select: string, pin = '1', name = 't'): Sandbox {
  const files = [{ path: at('a.parquet'), pin }];
  return { files, links: [], scope: 's', keepsFooters: true, views: [{ name, select }] };
}

/** The value in the table, and the identity of the view that it is. */
function read(instances: Instances, given: Sandbox): Promise<readonly unknown[]> {
  return within(given, instances, async (sessions) => {
    const { connection } = await sessions.take();
    const sql = 'SELECT x, view_oid FROM t, duckdb_views() WHERE view_name = $1';
    const [row = []] = await (await connection.run(sql, [given.views?.[0]?.name ?? ''])).getRows();
    connection.closeSync();
    return row;
  });
}

test('a view is there for the next call that means the same', async () => {
  const instances = new Instances(settings);
  const first = await read(instances, sandbox(SELECT));
  expect(first[0]).toBe(1);
  expect(await read(instances, sandbox(SELECT))).toEqual(first);
});

test('a call that means another table by the name does not see it', async () => {
  const instances = new Instances(settings);
  expect(await read(instances, sandbox(SELECT))).toMatchObject([1, expect.anything()]);
  const other = sandbox(`SELECT x + 1 AS x FROM (${SELECT})`);
  expect(await read(instances, other)).toMatchObject([2, expect.anything()]);
  expect(await read(instances, sandbox(SELECT, '1', 'T'))).toMatchObject([1, expect.anything()]);
  expect(await read(instances, sandbox(SELECT))).toMatchObject([1, expect.anything()]);
});

test('a file that has changed is read anew', async () => {
  const instances = new Instances(settings);
  expect(await read(instances, sandbox(SELECT))).toMatchObject([1, expect.anything()]);
  await write(7);
  expect(await read(instances, sandbox(SELECT, '2'))).toMatchObject([7, expect.anything()]);
});
