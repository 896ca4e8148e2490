import { expect, test, vi } from 'vitest';
import { parseCorpus, readCorpus } from './corpus.ts';
import { Oracle } from './oracle.ts';
import { scratch } from './scratch.ts';
import { tryKnown } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();

test('there are more than two hundred queries, each with a name of its own', () => {
  const names = readCorpus().map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(200);
});

test('what a query leaves open is read from its comments', () => {
  const text =
    '-- A page.\n\n-- name: one\n-- order: 1, 2\n-- ties\nSELECT 1\n\n-- name: two\n-- fails: no.e\nSELECT 2';
  expect(parseCorpus('page', text)).toMatchObject([
    { name: 'page: one', sql: 'SELECT 1', leeway: { order: [1, 2], ties: true }, fails: null },
    { name: 'page: two', sql: 'SELECT 2', leeway: { order: [], ties: false }, fails: /no.e/ },
  ]);
  expect(() => parseCorpus('page', '-- name: one\n-- odrer: 1\nSELECT 1')).toThrow('odrer');
});

test('DuckDB with several threads gives answers that the oracle accepts', async () => {
  const parallel = await Oracle.open(here.tables.readers, { threads: 4 });
  const wrong: string[] = [];
  for (const query of readCorpus()) {
    if (query.isRefused) continue;
    const found = await tryKnown(here.oracle, query, (sql) => parallel.answer(sql));
    if (found !== null) wrong.push(found);
  }
  parallel.close();
  expect(wrong).toEqual([]);
});
