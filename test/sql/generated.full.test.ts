import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { callCases, castCases, GeneratedTrial, typeCases } from './generated/trial.ts';
import { Dice } from './random/dice.ts';

vi.setConfig({ testTimeout: 6 * 3_600_000, hookTimeout: 120_000 });

/** Another one each day; `TEST_SQL_SEED=7` repeats a run. */
const SEED = Number(process.env['TEST_SQL_SEED'] ?? Math.floor(Date.now() / 86_400_000));
/** Of each function. */
const SHAPES = 5;

let trial: GeneratedTrial;
beforeAll(async () => {
  trial = await GeneratedTrial.open();
});
afterAll(async () => {
  const { compared, whole, invalid, wrong } = trial.counts;
  console.log(
    `seed ${SEED}: ${compared} compared, ${whole} of them whole, ${wrong.length} wrong; DuckDB refused ${invalid} more`,
  );
  await trial.close();
});

test('values of every type are keys, arguments and results as in DuckDB', async () => {
  for (const each of typeCases(trial.samples)) await trial.compare(each);
  for (const each of castCases(trial.samples)) await trial.compare(each);
  expect(trial.counts.wrong).toEqual([]);
});

test('every function gives what DuckDB gives, wherever it stands', async () => {
  const dice = new Dice(SEED);
  for (const overload of trial.overloads) {
    const call = await trial.call(overload, dice);
    if (call === null) continue;
    for (const each of callCases(overload, call, SHAPES, dice)) await trial.compare(each);
  }
  expect(trial.counts.wrong).toEqual([]);
});
