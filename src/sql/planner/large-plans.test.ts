/** A plan is split where it was made: the leader's thread goes on meanwhile. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Catalog } from '../catalog/index.ts';
import { checkedSettings } from '../../scheduler/core/index.ts';
import { startPlanningEngine } from '../engine/index.ts';
import type { PlanningEngine } from '../engine/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { SqlPlanner } from './planner.ts';

const never = new AbortController().signal;
let folder = '';
let engine: PlanningEngine;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-large-plans-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT i AS a, i % 7 AS b FROM range(1000) t(i)) TO '${join(folder, 't.parquet')}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  engine = startPlanningEngine({
    memoryBytes: 512 * 2 ** 20,
    threads: 1,
    spillFolder: join(folder, 'spill'),
    spillBytesMax: 0,
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a plan of thousands of expressions is split by the engine', async () => {
  const planner = new SqlPlanner({
    catalog: new Catalog({
      allowed: 'named',
      describe: (source, signal) => engine.describe(source, signal),
      file: null,
      folder,
    }),
    engine,
    settings: checkedSettings(),
    slots: () => 3,
    clock: new VirtualClock(),
    planMs: 60_000,
    onFault: (error) => expect.fail(String(error)),
  });
  const columns = Array.from({ length: 1_500 }, (_, at) => `sum(a + ${at}) AS c${at}`);
  const request = {
    sql: `SELECT b, ${columns.join(', ')} FROM t GROUP BY b`,
    tables: { t: join(folder, 't.parquet') },
    settings: { singleFragmentBytes: 0 },
  };
  const { plan } = await planner.explain(request, never);
  expect(plan.single).toBeNull();
  expect(plan.columns).toHaveLength(1_501);
});
