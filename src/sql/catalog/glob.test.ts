import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesOf, fixedPart, isPattern } from './glob.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-glob-'));
const { signal } = new AbortController();
const options = { signal, filesMax: 1_000 };
const instance = await DuckDBInstance.create(':memory:');
const duckdb = await instance.connect();

beforeAll(() => {
  const names = [
    'top.parquet',
    'top.PARQUET',
    '.dot.parquet',
    'a/x.parquet',
    'a/b/y.parquet',
    '.hidden/h.parquet',
    'we[i]rd/w.parquet',
    'y=2024/m=1/p.parquet',
    'brace{s}.parquet',
    'ab-c.txt',
    'ä.txt',
  ];
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), '');
  }
  symlinkSync(join(folder, 'a'), join(folder, 'link'));
});

afterAll(() => {
  duckdb.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true });
});

async function byDuckdb(pattern: string): Promise<string[]> {
  const quoted = pattern.replaceAll("'", "''");
  const result = await duckdb.runAndReadAll(`SELECT file FROM glob('${quoted}')`);
  // It also names folders, when a pattern ends with a slash or with a name that is written out, and then cannot
  // read them.
  const files = result.getRowsJson().map(([file]) => file as string);
  return files.filter((file) => statSync(file).isFile()).toSorted();
}

test.each([
  '*.parquet',
  '**/*.parquet',
  '**',
  '*/*.parquet',
  '{a,link}/x.parquet',
  'brace{s}.parquet',
  '*{s}*',
  't?p.parquet',
  '[st]op.parquet',
  '[!t]*',
  '[^t]*',
  '[a-z]op.*',
  'we[i]rd/w.parquet',
  'we[[]i]rd/w.parquet',
  'we*/*',
  'a/**/y.parquet',
  '.*',
  'nope*',
  'nope/*',
  'link/**',
  '**/b/*',
  '**.parquet',
  'y=*/m=*/*.parquet',
  'top.parquet/*',
  '*/b',
])('%s matches the same files as in DuckDB', async (pattern) => {
  const path = join(folder, pattern);
  expect(await filesOf(path, options)).toEqual(await byDuckdb(path));
});

test('matches any pattern like DuckDB', async () => {
  const piece = fc.constantFrom('*', '?', 'a', 'b', 't', 'o', 'p', '.', 'x', '[a-t]', '[!a]', '-');
  const part = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''));
  const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  await fc.assert(
    fc.asyncProperty(path, async (relative) => {
      // These would be folders of the pattern itself.
      fc.pre(!relative.split('/').some((part) => ['.', '..', '**'].includes(part)));
      fc.pre(isPattern(relative));
      const pattern = `${folder}/${relative}`;
      // Brackets mean one byte to DuckDB, and one character here.
      const isPlain = (file: string): boolean => !file.includes('ä');
      const files = (await filesOf(pattern, options)).filter(isPlain);
      expect(files).toEqual((await byDuckdb(pattern)).filter(isPlain));
    }),
    { numRuns: 150 },
  );
});

test('matches a question mark with one character, also one of several bytes', async () => {
  expect(await filesOf(join(folder, '?.txt'), options)).toEqual([join(folder, 'ä.txt')]);
});

test('refuses ** twice, as DuckDB does', async () => {
  await expect(filesOf(join(folder, '**/b/**'), options)).rejects.toThrow('has ** twice');
});

test('refuses more files than allowed', async () => {
  await expect(filesOf(join(folder, '**'), { signal, filesMax: 3 })).rejects.toThrow(
    'more than 3 files',
  );
});

test('ends the fixed part of a pattern before the first wildcard', () => {
  expect(fixedPart('/data/year=*/x.parquet')).toBe('/data');
  expect(fixedPart('/data/x.parquet')).toBe('/data/x.parquet');
  expect(fixedPart('/*')).toBe('/');
});

test('matches a pattern with many stars fast', async () => {
  writeFileSync(join(folder, 'a'.repeat(200)), '');
  const startedAt = performance.now();
  expect(await filesOf(join(folder, `${'*a'.repeat(30)}*b`), options)).toEqual([]);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  rmSync(join(folder, 'a'.repeat(200)));
});
