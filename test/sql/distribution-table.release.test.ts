import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { BEGIN, END, distributionTable, FILES, SETTINGS } from './distribution.ts';
import { EngineQueries } from './engine-queries.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });
const here = scratch();
const PAGE = join(import.meta.dirname, '../../docs/guide/sql.md');

let queries: EngineQueries;
beforeAll(() => {
  const { folder } = here;
  const own = Object.entries(FILES).map(([name, content]) => {
    writeFileSync(join(folder, name), content);
    return [name.replace(/\..*/, ''), join(folder, name)] as const;
  });
  queries = new EngineQueries(folder, { ...here.tables.specs, ...Object.fromEntries(own) });
});
afterAll(() => queries.close());

test('the guide says of each kind of query how it runs', async () => {
  const table = await distributionTable((sql) => queries.plan(sql, SETTINGS));
  expect(queries.faults).toEqual([]);
  const page = readFileSync(PAGE, 'utf8');
  const [before = '', rest = ''] = page.split(BEGIN);
  const [written, after = ''] = rest.split(END);
  const expected = `\n\n${table}\n\n`;
  if (process.env['WRITE_GUIDE'] === '1' && written !== expected)
    writeFileSync(PAGE, [before, BEGIN, expected, END, after].join(''));
  else expect(written).toBe(expected);
});
