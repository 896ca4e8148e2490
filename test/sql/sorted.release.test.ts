import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { EngineQueries } from './engine-queries.ts';
import { scratch } from './scratch.ts';
import { SORTED_QUERIES } from './sorted-queries.ts';
import { FORCED, nextOutput, startSqlCluster } from './sql-cluster.ts';
import { inLanes, sample } from './trial.ts';
import type { Run } from './trial.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 300_000 });
const here = scratch();
const SORTED = { ...FORCED, sortThresholdBytes: 0 };
const LANES = 3;

/** One of so many queries. */
const compared = async (run: Run, oneOf: number): Promise<readonly string[]> =>
  inLanes(sample(SORTED_QUERIES, oneOf), LANES, async ({ sql, leeway }) => {
    const found = await here.oracle.judge(sql, await run(sql), leeway);
    return found === null ? null : `${sql}: ${found}`;
  });

test('an engine sorts ranges with real files between the stages', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-sorted-'));
  const queries = new EngineQueries(folder, here.tables.specs);
  try {
    for (const [shufflePartitions, oneOf] of [
      [1, 9],
      [4, 2],
      [16, 5],
    ] as const) {
      const settings = { ...SORTED, shufflePartitions };
      const run: Run = async (sql) => {
        const { plan, answer } = await queries.ask(sql, settings);
        const isSplit = plan.stages.at(-1)?.tasks === shufflePartitions;
        if (!isSplit) throw new Error(`${sql}: is sorted by one task, ${plan.single}`);
        return answer;
      };
      expect(await compared(run, oneOf)).toEqual([]);
    }
    expect(queries.faults).toEqual([]);
  } finally {
    await queries.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('three workers return sorted rows, also when one of them is killed', async () => {
  const { cluster, settings } = await startSqlCluster(here.tables, 3);
  expect(await compared(settings({ ...SORTED, shufflePartitions: 4 }), 4)).toEqual([]);
  const output = nextOutput(cluster);
  const underway = compared(settings({ ...SORTED, shufflePartitions: 16 }), 7);
  await output;
  await cluster.workers[0]!.process.crash();
  await cluster.workers[0]!.start();
  expect(await underway).toEqual([]);
  await cluster.stop();
});
