import { expect, test, vi } from 'vitest';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { openPlanned, grouped, split } from './planned.ts';
import type { Grouping } from './plan/run-plan-locally.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { knownQueries, tryKnown, tryPair, tryRandom } from './trial.ts';
import type { Outcome } from './trial.ts';

vi.setConfig({ testTimeout: 6 * 3_600_000 });
const here = scratch();

/** `TEST_SQL_QUERIES=500` tries fewer; `TEST_SQL_SEED=90000` begins elsewhere. */
const QUERIES = Number(process.env['TEST_SQL_QUERIES'] ?? 8_500);
const FIRST = Number(process.env['TEST_SQL_SEED'] ?? 1_000);
const PAIRS = Math.ceil(QUERIES / 8);

const PARTITIONS = [1, 4, 16];
/** Nothing is sent to every task; small tables are; everything is. */
const THRESHOLDS = [0, 4_096, 1e9];

const local = openPlanned(here);

const settings = (partitions: number, broadcastThresholdBytes: number): PlanSettings => ({
  partitions,
  broadcastThresholdBytes,
  singleFragmentBytes: 0,
  sortThresholdBytes: broadcastThresholdBytes,
  // Wherever possible, but for one threshold never.
  runtimeFilters: broadcastThresholdBytes === THRESHOLDS[1] ? 0 : 2,
  adaptiveJoins: [3, 7, 16].includes(partitions) ? 2 : 0,
});

const runWith =
  (chosen: PlanSettings, isByValues: boolean, grouping?: Grouping) =>
  async (sql: string): Promise<Answer> =>
    (await (isByValues ? local.inOrder : local.planned).answer(sql, chosen, grouping)).answer;

const WAYS = PARTITIONS.flatMap((parts) =>
  THRESHOLDS.flatMap((bytes) => [
    [parts, bytes, 'rows'] as const,
    [parts, bytes, 'values'] as const,
    ...(parts > 1 && bytes < 1e9
      ? [[parts, bytes, 'rows, coalesced'] as const, [parts, bytes, 'rows, in pieces'] as const]
      : []),
  ]),
);

test.each(WAYS)(
  'every query in %i parts with a threshold of %i bytes, split by %s, gives what DuckDB gives',
  async (parts, bytes, by) => {
    const wrong: string[] = [];
    const ways = { 'rows, coalesced': grouped, 'rows, in pieces': split, rows: null, values: null };
    const grouping = ways[by]?.(new Dice(parts));
    const run = runWith(settings(parts, bytes), by === 'values', grouping);
    for (const query of knownQueries()) {
      if (!local.planned.has(query.sql) || query.isRefused) continue;
      const found = await tryKnown(here.oracle, query, run);
      if (found !== null) wrong.push(found);
    }
    expect(wrong).toEqual([]);
  },
);

/** Each seed with other settings, always the same for it. */
const settingsOf = (seed: number): PlanSettings =>
  settings([2, 3, 4, 7][seed % 4]!, THRESHOLDS[[1, 2, 2, 0, 0][seed % 5]!]!);

/** For half of them. */
const groupingOf = (seed: number): Grouping | undefined =>
  [grouped, split, null, null][Math.floor(seed / 4) % 4]?.(new Dice(seed));

async function tried(
  count: number,
  attempt: (seed: number) => Promise<Outcome>,
): Promise<{ readonly valid: number; readonly wrong: readonly string[] }> {
  const wrong: string[] = [];
  let valid = 0;
  for (let seed = FIRST; seed < FIRST + count; seed += 1) {
    const outcome = await attempt(seed);
    if (!outcome.isInvalid) valid += 1;
    if (outcome.wrong !== null) wrong.push(outcome.wrong);
  }
  return { valid, wrong };
}

test(`${QUERIES} random queries, distributed and run on one node, give what DuckDB gives`, async () => {
  const { valid, wrong } = await tried(QUERIES, (seed) =>
    tryRandom(here.oracle, seed, runWith(settingsOf(seed), seed % 2 === 0, groupingOf(seed))),
  );
  console.log(`${valid} of ${QUERIES} random queries were valid and compared`);
  expect(wrong).toEqual([]);
  expect(valid).toBeGreaterThan(QUERIES * 0.95);
});

test(`${PAIRS} pairs of queries agree with each other`, async () => {
  const { valid, wrong } = await tried(PAIRS, (seed) =>
    tryPair(here.oracle, seed, runWith(settingsOf(seed), seed % 2 === 0, groupingOf(seed))),
  );
  console.log(`${valid} of ${PAIRS} pairs were valid and compared`);
  expect(wrong).toEqual([]);
  expect(valid).toBeGreaterThan(PAIRS * 0.95);
});
