import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlanBench } from './plan-bench.ts';
import { queries } from './queries.ts';
import { tables } from './tables.ts';

let bench: PlanBench;
beforeAll(async () => {
  bench = await PlanBench.open(tables);
});
afterAll(() => bench.close());

describe('a plan that is read and printed again gives the same rows and types', () => {
  test.each(queries)('%s', async (sql) => {
    const expected = await bench.run(sql);
    expect(await bench.runPrinted(sql)).toEqual(expected);
  });
});
