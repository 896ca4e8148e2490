import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Catalog } from '../catalog/index.ts';
import { MillraceError, checkedSettings } from '../../scheduler/core/index.ts';
import { startPlanningEngine } from '../engine/index.ts';
import type { PlanningEngine } from '../engine/index.ts';
import type { QueryPlan } from '../plan/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { SqlPlanner } from './planner.ts';

const never = new AbortController().signal;
let folder = '';
let path = '';
let engine: PlanningEngine;
let faults: string[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-bound-plans-'));
  path = join(folder, 't.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT i AS a, i % 7 AS b, {'x': i} AS s FROM range(100) t(i)) TO '${path}' (FORMAT parquet)`,
  );
  connection.closeSync();
  instance.closeSync();
  engine = startPlanningEngine({
    memoryBytes: 256 * 1024 * 1024,
    threads: 1,
    spillFolder: join(folder, 'spill'),
    spillBytesMax: 0,
  });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  faults = [];
});

/** Plans with an engine that binds in this way. */
async function planned(sql: string, bind: PlanningEngine['bind']): Promise<QueryPlan> {
  const planner = new SqlPlanner({
    catalog: new Catalog({
      allowed: 'named',
      describe: (source, signal) => engine.describe(source, signal),
      file: null,
      folder,
    }),
    engine: {
      plan: (request, signal) => engine.plan(request, signal),
      split: (input, signal) => engine.split(input, signal),
      bind,
    },
    settings: checkedSettings(),
    slots: () => 3,
    clock: new VirtualClock(),
    planMs: 20_000,
    onFault: (error) => faults.push(String(error)),
  });
  const request = { sql, tables: { t: path }, settings: { singleFragmentBytes: 0 } };
  return (await planner.explain(request, never)).plan;
}

const changed =
  (change: (sql: string) => string): PlanningEngine['bind'] =>
  (request, signal) => {
    const stages = request.stages.map(({ fragment, output }) => ({
      fragment: { ...fragment, sql: change(fragment.sql) },
      output,
    }));
    return engine.bind({ ...request, stages }, signal);
  };

const SQL = 'SELECT b, sum(a) AS n, max(s) AS s FROM t GROUP BY b';

describe('a query whose fragments', () => {
  test('DuckDB binds as planned is split', async () => {
    const plan = await planned(SQL, (request, signal) => engine.bind(request, signal));
    expect(plan.single).toBeNull();
    expect(plan.stages.length).toBeGreaterThan(1);
    expect(faults).toEqual([]);
  });

  test.each([
    ['DuckDB refuses', (sql: string) => sql.replace('sum(', 'no_such_sum('), /no_such_sum/],
    [
      'DuckDB gives other types',
      (sql: string) => sql.replace(/sum\(t\.c\d\)/, (sum) => `CAST(${sum} AS DOUBLE)`),
      /DOUBLE instead of HUGEINT/,
    ],
    ['have a column more', (sql: string) => `SELECT *, 1 AS more FROM (${sql})`, /more|instead/],
  ])('%s runs as a single fragment, and the reason is logged', async (_name, change, reason) => {
    const plan = await planned(SQL, changed(change));
    expect(plan.single).toMatch(/^DuckDB binds one of its fragments differently/);
    expect(plan.stages).toHaveLength(1);
    expect(plan.stages[0]?.fragment.sql).toBe(SQL);
    expect(faults).toEqual([expect.stringMatching(reason)]);
  });

  test('cannot be bound because the engine dies runs as a single fragment', async () => {
    const crash = new MillraceError({ code: 'engine_crashed', what: 'It died.' });
    const plan = await planned(SQL, () => Promise.reject(crash));
    expect(plan.single).not.toBeNull();
    expect(faults).toEqual([expect.stringContaining('It died.')]);
  });

  test('are not there, because it is small, binds nothing', async () => {
    const plan = await planned('SELECT 1 AS one', () => expect.fail('it was bound'));
    expect(plan.single).not.toBeNull();
    expect(faults).toEqual([]);
  });
});
