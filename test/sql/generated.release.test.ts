import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { callCases, castCases, GeneratedTrial, typeCases } from './generated/trial.ts';
import { Dice } from './random/dice.ts';

vi.setConfig({ testTimeout: 15 * 60_000, hookTimeout: 120_000 });

const SEED = 20_260;
const CASES = 120;

let trial: GeneratedTrial;
beforeAll(async () => {
  trial = await GeneratedTrial.open();
});
afterAll(() => trial.close());

test('values of every type are keys, arguments and results as in DuckDB', async () => {
  const dice = new Dice(SEED);
  for (const each of dice.some(typeCases(trial.samples), CASES)) await trial.compare(each);
  for (const each of dice.some(castCases(trial.samples), CASES / 4)) await trial.compare(each);
  expect(trial.counts.wrong).toEqual([]);
});

test('functions of every kind give what DuckDB gives, wherever they stand', async () => {
  const dice = new Dice(SEED + 1);
  for (const overload of dice.some(trial.overloads, CASES)) {
    const call = await trial.call(overload, dice);
    if (call === null) continue;
    for (const each of callCases(overload, call, 1, dice)) await trial.compare(each);
  }
  expect(trial.counts.wrong).toEqual([]);
  expect(trial.counts.compared).toBeGreaterThan(CASES);
});
