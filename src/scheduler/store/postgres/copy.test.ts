import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../../../../test/rig/postgres.ts';
import { connectOnce, type OneConnection } from './connection.ts';
import { type CopyColumn, copyOf } from './copy.ts';

interface Row {
  readonly small: number | null;
  readonly whole: number | null;
  readonly large: number | null;
  readonly real: number | null;
  readonly at: number | null;
  readonly text: string | null;
  readonly list: readonly string[];
}

const COLUMNS: readonly CopyColumn<Row>[] = [
  { name: 'small', type: 'smallint', of: ({ small }) => small },
  { name: 'whole', type: 'integer', of: ({ whole }) => whole },
  { name: 'large', type: 'bigint', of: ({ large }) => large },
  { name: 'real', type: 'double precision', of: ({ real }) => real },
  { name: 'at', type: 'timestamptz', of: ({ at }) => at },
  { name: 'text', type: 'text', of: ({ text }) => text },
  { name: 'list', type: 'text[]', of: ({ list }) => list },
];

const TABLE = `create temporary table t (place serial, small smallint, whole integer, large bigint, "real" double precision,
  at timestamptz, text text, list text[], check (small is distinct from 7))`;

async function connected(): Promise<OneConnection> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const settings = { url: database.url, applicationName: 'test', ttlMs: 10_000 };
  const connection = connectOnce(settings, {});
  onTestFinished(() => connection.end());
  await connection.run(TABLE, []);
  return connection;
}

/** Few values, so that neighbours are often alike, and the ends of what a column can hold. */
const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const word = (): fc.Arbitrary<string> =>
  fc.oneof(
    some('', 'abc', 'abd', 'né', 'nez', '€', '😀', 'x'.repeat(70)),
    fc.string({ unit: 'grapheme' }),
  );
const rows = fc.array(
  fc.record<Row>({
    small: some<number | null>(null, 0, 1, -32_768, 32_767),
    whole: some<number | null>(null, 0, -1, 2 ** 31 - 1, -(2 ** 31)),
    large: some<number | null>(
      null,
      0,
      -1,
      2 ** 40,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ),
    real: some<number | null>(null, 0, 0.1, 1, 1e300),
    at: some<number | null>(null, 0, 1_795_036_963_383, -62_135_596_800_000, 8_640_000_000_000_000),
    text: fc.option(word().filter((text) => !text.includes('\0'))),
    list: fc.array(
      word().filter((text) => !text.includes('\0')),
      { maxLength: 3 },
    ),
  }),
  { minLength: 1, maxLength: 12 },
);

test('PostgreSQL reads what was copied, whatever the rows before it were', async () => {
  const connection = await connected();
  await fc.assert(
    fc.asyncProperty(rows, async (all) => {
      await connection.run('truncate t', []);
      await connection.copy(copyOf('t', COLUMNS, all));
      const found = await connection.run(
        `select small, whole, large, "real", at, text, to_json(coalesce(list, '{}'))::text as list from t order by place`,
        [],
      );
      const read = found.map(({ list, ...row }) => ({
        ...row,
        list: JSON.parse(list as string) as string[],
      }));
      expect(read).toEqual(all);
    }),
    { numRuns: 30 },
  );
});

test('a copy that PostgreSQL refuses fails at once, and the connection goes on', async () => {
  const connection = await connected();
  const row: Row = { small: 1, whole: 1, large: 1, real: 1, at: 1, text: 'a', list: [] };
  const many = Array.from({ length: 5_000 }, (_, at): Row => ({ ...row, whole: at }));
  // The first row is refused while others are still sent, the last one when all have been.
  for (const refused of [0, many.length]) {
    const all = many.toSpliced(refused, 0, { ...row, small: 7 });
    await connection.begin();
    await expect(connection.copy(copyOf('t', COLUMNS, all))).rejects.toMatchObject({
      code: '23514',
    });
    await connection.run('rollback', []);
    await connection.copy(copyOf('t', COLUMNS, [row]));
  }
  expect(await connection.run('select count(*)::int as n from t', [])).toEqual([{ n: 2 }]);
});

test('an unpaired surrogate is refused', () => {
  const row: Row = { small: 1, whole: 1, large: 1, real: 1, at: 1, text: '\uD800', list: [] };
  expect(() => copyOf('t', COLUMNS, [row])).toThrow('unpaired surrogate');
});

test('a copy does not wait until the server has acknowledged its parts', async () => {
  const { copy } = await connected();
  const body = copyOf('t', COLUMNS, [
    { small: 1, whole: 1, large: 1, real: 1, at: 0, text: 'a', list: [] },
  ]);
  const tookMs: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    const startedAt = performance.now();
    await copy(body);
    tookMs.push(performance.now() - startedAt);
  }
  // A busy machine may be slow at times; an acknowledgement takes 40 ms each time.
  expect(Math.min(...tookMs)).toBeLessThan(30);
});
