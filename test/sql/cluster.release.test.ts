import { expect, test } from 'vitest';
import { expectAnswersOfDuckdb } from './two-workers.ts';

test('two workers answer more queries as DuckDB does, also when one of them is killed', async () => {
  expect.hasAssertions();
  await expectAnswersOfDuckdb({ tpch: /^q(03|09|13|16|18|21)$/, oneOf: 32, randomQueries: 6 });
});
