import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Catalog } from './catalog.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-mentioned-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'b.parquet'), 'PAR1');
const { signal } = new AbortController();

const catalog = new Catalog({
  ...{ allowed: 'named', file: null, folder },
  describe: ({ options }) =>
    Promise.resolve({
      ...{ columns: [{ name: 'a', type: 'INTEGER', bytes: 1 }], clusters: [], options },
      ...{ files: [{ rows: 1, groups: [1] }], select: 'SELECT 1' },
    }),
});
const tables = { a: 'gone.parquet', b: 'b.parquet' };

test('only tables of a request that the statement may mention are looked at', async () => {
  const found = await catalog.resolve({ tables, sql: 'from B' }, signal);
  expect(found.map(({ name }) => name)).toEqual(['b']);
});

test.each([
  ['the statement makes another one of a text', { sql: `from query('from ' || chr(97))` }],
  ['a name may have escapes', { sql: String.raw`from U&"\0062"` }],
  ['all of them are asked for', { sql: 'from B', isEach: true }],
])('all tables of a request are looked at if %s', async (_why, asked) => {
  await expect(catalog.resolve({ tables, ...asked }, signal)).rejects.toMatchObject({
    code: 'table_missing',
    path: '/tables/a',
  });
});
