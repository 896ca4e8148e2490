import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { requestOf, type SqlFlags } from './request.ts';

const { signal } = new AbortController();
const ask = (flags: SqlFlags, query?: string) => requestOf(query, flags, signal);

test('flags become what the API takes', async () => {
  const asked = await ask(
    {
      table: [
        ...['a=x.parquet', 'b=one.csv', 'b=/two.csv', 'c={"paths": ["d/*"], "hive": true}'],
        ...['d=["x.csv", "/y.csv"]', 'e=[ab]*.csv'],
      ],
      param: ['since=2026-11-15', 'n=5', 'zip="01234"', 'code=0123', 'none=null', '$flag=true'],
      set: ['shufflePartitions=4', 'memoryBytes=1MiB', 'timeoutMs=2s'],
    },
    'select 1',
  );
  expect(asked).toEqual({
    sql: 'select 1',
    tables: {
      a: resolve('x.parquet'),
      b: [resolve('one.csv'), '/two.csv'],
      c: { paths: [resolve('d/*')], hive: true },
      d: [resolve('x.csv'), '/y.csv'],
      e: resolve('[ab]*.csv'),
    },
    params: { since: '2026-11-15', n: 5, zip: '01234', code: '0123', none: null, flag: true },
    settings: { shufflePartitions: 4, memoryBytes: 2 ** 20, timeoutMs: 2_000 },
  });
});

test('parameters by number are a list', async () => {
  expect(await ask({ param: ['2=b', '1=7'] }, 'select $1')).toEqual({
    sql: 'select $1',
    params: [7, 'b'],
  });
});

test('the query may stand in a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sql-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'q.sql');
  writeFileSync(file, 'select 1\n');
  expect(await ask({ file })).toEqual({ sql: 'select 1\n' });
  writeFileSync(file, ' \n');
  await expect(ask({ file })).rejects.toThrow(`${file} is empty.`);
  await expect(ask({ file: join(folder, 'none') })).rejects.toThrow('does not exist');
});

test.each<[SqlFlags, string | undefined, string]>([
  [{}, undefined, 'No SQL statement was given.'],
  [{ file: 'x' }, 'select 1', 'Two queries were given'],
  [{ table: ['x'] }, 'q', "'x' is not a valid NAME=VALUE for --table."],
  [{ table: ['x='] }, 'q', "'x=' is not a valid NAME=VALUE for --table."],
  [{ table: ['x={a'] }, 'q', 'The definition of table x is not valid JSON'],
  [{ table: ['x={"paths":"a"}', 'x=b'] }, 'q', 'Table x was given twice.'],
  [{ table: ['x=b', 'x={"paths":"a"}'] }, 'q', 'Table x was given twice.'],
  [{ param: ['=1'] }, 'q', 'is not a valid NAME=VALUE for --param'],
  [{ param: ['a=1', 'a=2'] }, 'q', 'A --param was given twice.'],
  [{ param: ['1=1', '3=2'] }, 'q', 'Parameter --param 2=... is missing.'],
  [
    { set: ['shufflePartitions=many'] },
    'q',
    "'many' is not a valid number for --set shufflePartitions.",
  ],
  [{ set: ['memoryBytes=1 apple'] }, 'q', 'is not a valid number for --set memoryBytes'],
])('%o with %s is refused', async (flags, query, words) => {
  await expect(ask(flags, query)).rejects.toMatchObject({ code: 'bad_input' });
  await expect(ask(flags, query)).rejects.toThrow(words);
});
