import { afterEach, beforeEach, expect, test } from 'vitest';
import { MEMORY, openFile } from './file.ts';
import type { OpenedFile } from './file.ts';

interface Row {
  readonly no: number;
  readonly text: string;
}

const COLUMNS = [
  { type: 'bigint', get: (row: Row) => row.no },
  { type: 'varchar', get: (row: Row) => row.text },
] as const;

let file: OpenedFile;
beforeEach(async () => {
  file = await openFile(MEMORY);
  await file.writer.script('create table t (no bigint, text varchar)');
});
afterEach(() => file.close());

test('many rows are appended in portions, and the thread is free between them', async () => {
  const rows = Array.from({ length: 5_000 }, (_, no) => ({ no, text: `row ${no}` }));
  let isDone = false;
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await file.writer.append('t', null, COLUMNS, rows).finally(() => (isDone = true));
  // 256 rows a portion at most.
  expect(turns).toBeGreaterThan(5_000 / 256 - 1);
  const [stored] = await file.writer.rows(
    `select count(*), count(distinct no), min(no), max(no) from t where text = 'row ' || no`,
  );
  expect(stored).toEqual([5_000, 5_000, 0, 4_999]);
});

test('portions that are appended when a later one fails are undone with their transaction', async () => {
  const rows = Array.from({ length: 1_000 }, (_, no) => ({ no, text: 'x' }));
  const columns = [
    { type: 'bigint', get: (row: Row) => (row.no < 900 ? row.no : Number.NaN) },
    COLUMNS[1],
  ] as const;
  await file.writer.run('begin');
  await expect(file.writer.append('t', null, columns, rows)).rejects.toThrow('NaN');
  await file.writer.run('rollback');
  expect(await file.writer.rows('select count(*) from t')).toEqual([[0]]);
});
