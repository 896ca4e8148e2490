import { expect, test } from 'vitest';
import { expectAnswersOfDuckdb } from './two-workers.ts';

test('two workers answer as DuckDB does, also when one of them is killed', async () => {
  expect.hasAssertions();
  await expectAnswersOfDuckdb({ tpch: /^q(03|18)$/, oneOf: 160, randomQueries: 2 });
});
