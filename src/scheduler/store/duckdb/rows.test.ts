import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Cell, CellType, Table } from './columns.ts';
import { field } from './columns.ts';
import { MEMORY, openFile } from './file.ts';
import type { OpenedFile } from './file.ts';
import { insertRows, selectRows, updateRows } from './rows.ts';

interface Row {
  readonly no: number;
  readonly text: string;
}

const PLAIN: Table<Row> = { name: 't', columns: [field('no', 'bigint'), field('text', 'varchar')] };

/** A column of each type. */
type Cells = Readonly<Record<string, Cell>>;
const TYPES: readonly CellType[] = [
  ...(['integer', 'bigint', 'double', 'boolean'] as const),
  ...(['varchar', 'integer[]', 'varchar[]'] as const),
];
const ALL: Table<Cells> = {
  name: 'every',
  columns: [field('no', 'bigint'), ...TYPES.map((type, at) => field<Cells>(`c${at}`, type))],
};

let file: OpenedFile;
beforeEach(async () => {
  file = await openFile(MEMORY);
  await file.writer.script('create table t (shard integer, no bigint not null, text varchar)');
  const columns = TYPES.map((type, at) => `c${at} ${type}`).join(', ');
  await file.writer.script(`create table every (shard integer, no bigint, ${columns})`);
});
afterEach(() => file.close());

test('a text keeps the character that may mark an encoding', async () => {
  await insertRows(file.writer, PLAIN, 1, [{ no: 1, text: '\uFEFFtext' }]);
  expect(await file.writer.rows('select text from t')).toEqual([['\uFEFFtext']]);
});

test('many rows are inserted in portions, and the thread is free between them', async () => {
  const rows = Array.from({ length: 10_000 }, (_, no) => ({ no, text: `row ${no}` }));
  let isDone = false;
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await insertRows(file.writer, PLAIN, 3, rows).finally(() => (isDone = true));
  // 2,000 rows a portion at most.
  expect(turns).toBeGreaterThan(10_000 / 2_000 - 1);
  const [stored] = await file.writer.rows(
    `select count(*), count(distinct no), min(no), max(no) from t where text = 'row ' || no and shard = 3`,
  );
  expect(stored).toEqual([10_000, 10_000, 0, 9_999]);
});

test('large texts are inserted a few at a time', async () => {
  const rows = Array.from({ length: 40 }, (_, no) => ({ no, text: `${no}`.repeat(100_000) }));
  await insertRows(file.writer, PLAIN, 0, rows);
  const [stored] = await file.writer.rows(
    'select count(*), sum(length(text)) from t where text = repeat(no::varchar, 100000)',
  );
  expect(stored).toEqual([40, 7_000_000]);
});

test('portions that were inserted when a later one fails are undone with their transaction', async () => {
  const rows = Array.from({ length: 5_000 }, (_, no) => ({
    no: no < 4_900 ? no : Number.NaN,
    text: 'x',
  }));
  await file.writer.run('begin');
  await expect(insertRows(file.writer, PLAIN, 0, rows)).rejects.toThrow('NaN');
  await file.writer.run('rollback');
  expect(await file.writer.rows('select count(*) from t')).toEqual([[0]]);
});

const texts = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'));
const CELLS: Readonly<Record<CellType, fc.Arbitrary<Cell>>> = {
  integer: fc.integer(),
  bigint: fc.maxSafeInteger(),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  boolean: fc.boolean(),
  varchar: texts,
  'integer[]': fc.array(fc.integer(), { maxLength: 3 }),
  'varchar[]': fc.array(texts, { maxLength: 3 }),
};

/** Values of few kinds, so that columns are often constant. */
const rowsOfCells = fc
  .tuple(...TYPES.map((type) => fc.array(fc.option(CELLS[type]), { minLength: 1, maxLength: 3 })))
  .chain((choices) =>
    fc.array(fc.tuple(...choices.map((choice) => fc.constantFrom(...choice))), {
      minLength: 1,
      maxLength: 12,
    }),
  )
  .map((all) =>
    all.map((cells, no) => ({
      no,
      ...Object.fromEntries(cells.map((cell, at) => [`c${at}`, cell])),
    })),
  );

test('cells of every type are read as they were inserted and updated', async () => {
  const { writer } = file;
  await fc.assert(
    fc.asyncProperty(rowsOfCells, rowsOfCells, async (before, after) => {
      await writer.run('delete from every');
      await insertRows(writer, ALL, 1, before);
      const inOrder = () => selectRows(writer, ALL, 'where shard = $1::integer order by no', 1);
      expect(await inOrder()).toEqual(before);
      const changes = after.slice(0, before.length);
      expect(await updateRows(writer, ALL, ['no'], 1, changes)).toBe(changes.length);
      expect(await inOrder()).toEqual([...changes, ...before.slice(changes.length)]);
    }),
    { numRuns: 60 },
  );
}, 60_000);
