import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { EXAMPLES, FILES, SETTINGS } from './distribution.ts';
import { EngineQueries } from './engine-queries.ts';
import { Oracle } from './oracle.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });
const here = scratch();

test('every example of the guide returns what DuckDB returns', async () => {
  const { folder, tables } = here;
  const specs: Record<string, (typeof tables.specs)[string]> = { ...tables.specs };
  const readers: Record<string, string> = { ...tables.readers };
  for (const [name, content] of Object.entries(FILES)) {
    const path = join(folder, name);
    writeFileSync(path, content);
    const table = name.replace(/\..*/, '');
    specs[table] = path;
    readers[table] = `${name.endsWith('.csv') ? 'read_csv' : 'read_json'}('${path}')`;
  }
  const oracle = await Oracle.open(readers);
  const queries = new EngineQueries(folder, specs);
  try {
    for (const { sql, order = [], isVolatile } of EXAMPLES) {
      const { answer } = await queries.ask(sql, SETTINGS);
      const own = await oracle.answer(sql);
      if (isVolatile === 'count') expect([sql, answer.columns]).toEqual([sql, own.columns]);
      else if (isVolatile === 'rows')
        expect([sql, answer.rows.length]).toEqual([sql, own.rows.length]);
      else expect([sql, await oracle.judge(sql, answer, { order })]).toEqual([sql, null]);
    }
  } finally {
    await queries.close();
    oracle.close();
  }
});
