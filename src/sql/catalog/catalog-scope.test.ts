import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CatalogFile } from './catalog-file.ts';
import { Catalog } from './catalog.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-scope-'));
afterAll(() => rmSync(folder, { recursive: true }));
const place = join(folder, 'tables.json');

function catalogOf(file: CatalogFile | null, from = folder): Catalog {
  const describe = (): Promise<never> => Promise.reject(new Error('not asked for'));
  return new Catalog({ allowed: 'named', file, folder: from, describe });
}

test('requests have the same scope if they can name the same tables', async () => {
  writeFileSync(place, '{"t": "a.parquet"}');
  const file = await CatalogFile.open(place, () => {});
  const catalog = catalogOf(file);
  const none = await catalog.scope(undefined);
  const own = await catalog.scope({ u: 'b.parquet' });
  expect(await catalog.scope(undefined)).toBe(none);
  expect(await catalog.scope({ u: 'b.parquet' })).toBe(own);
  const others = [
    await catalog.scope({ u: 'c.parquet' }),
    await catalogOf(null).scope(undefined),
    await catalogOf(file, '/').scope(undefined),
  ];
  writeFileSync(place, '{"t": "a.parquet", "v": "a.parquet"}');
  others.push(await catalog.scope(undefined));
  expect(new Set([none, own, ...others]).size).toBe(6);
});
