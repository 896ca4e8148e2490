import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../scheduler/core/index.ts';
import { readRows } from './json-rows.ts';

interface Answer {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly Json[])[];
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string, size: number): Promise<{ answer: Answer; batches: number }> {
  const rows: (readonly Json[])[] = [];
  let columns: Answer['columns'] | null = null;
  let batches = 0;
  for await (const batch of readRows(pieces(Buffer.from(text), size))) {
    batches += 1;
    ({ columns } = batch);
    rows.push(...batch.rows);
  }
  return { answer: { columns: columns ?? expect.fail('no columns came'), rows }, batches };
}

test('rows are parsed correctly, wherever the chunks are split', async () => {
  const name = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('rows', '"rows":[', '\\"'));
  const answer = fc.record({
    columns: fc.array(fc.record({ name, type: fc.string() })),
    rows: fc.array(fc.array(fc.jsonValue() as fc.Arbitrary<Json>)),
  });
  await fc.assert(
    fc.asyncProperty(answer, fc.nat(40), fc.nat(2), async (given, size, indent) => {
      const found = await read(JSON.stringify(given, null, indent), size + 1);
      expect(found.answer).toEqual(JSON.parse(JSON.stringify(given)));
    }),
    { numRuns: 100 },
  );
});

test('rows of a line each are parsed correctly too, with the columns of any name', async () => {
  const rows = fc.array(fc.array(fc.jsonValue() as fc.Arbitrary<Json>), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.nat(60),
      fc.constantFrom('', '\n', ' \n'),
      async (given, size, end) => {
        const lines = given.map((row) => JSON.stringify(row)).join(',\n');
        const { answer } = await read(`{"columns":[],"rows":[${lines}${end}]}\n`, size + 1);
        expect(answer.rows).toEqual(JSON.parse(JSON.stringify(given)));
      },
    ),
    { numRuns: 100 },
  );
});

test('rows are yielded before the last one has arrived', async () => {
  const rows = Array.from({ length: 100 }, (_, at) => [at]);
  const { batches } = await read(JSON.stringify({ columns: [], rows }), 64);
  expect(batches).toBeGreaterThan(4);
});

test.each([
  ['that breaks off', '{"columns":[],"rows":[[1],[2'],
  ['without rows', '{"columns":[]}'],
  ['that is another page', '<html>[]</html>'],
  ['that ends where rows should be', '{"columns":[],"rows":[[1]'],
  ['with something that is not JSON', '{"columns":[],"rows":[[x]]}'],
])('an answer %s is not taken for rows', async (_what, text) => {
  await expect(read(text, 7)).rejects.toMatchObject({ code: 'incompatible' });
});
