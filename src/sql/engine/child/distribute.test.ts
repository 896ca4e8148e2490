import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PinnedTable, QueryPlan, SplitQueryInput } from '../../plan/index.ts';
import type { DistributeAnswer } from '../messages.ts';
import { bound, distributed } from './distribute.ts';
import { Instances, type PooledInstance } from './instances.ts';
import { Planner } from './plan.ts';
import { type SessionConnection, Work } from './work.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-distribute-'));
const path = join(folder, 't.parquet');
const limits = { memoryBytes: 256 * 2 ** 20, threads: 1, spillBytesMax: 2 ** 30 };
const spillFolder = join(folder, 'spill');
const instances = new Instances({ ...limits, spillFolder, folder, isPlanning: true });

const settings = {
  ...{ partitions: 3, broadcastThresholdBytes: 0, singleFragmentBytes: 0 },
  ...{ sortThresholdBytes: 0, runtimeFilters: 0, adaptiveJoins: 0 },
};
const SQL = 'SELECT b, sum(a) AS n, max(s) AS s FROM t GROUP BY b';

let table: PinnedTable;
let input: SplitQueryInput;
let instance: PooledInstance;
let work: Work;

async function inputOf(sql: string): Promise<SplitQueryInput> {
  const planning = new Work();
  const { name, select } = table;
  const answer = await new Planner(instances, 'v1.5.6').plan(planning, {
    ...{ name: 'plan', sql, timeZone: 'UTC', small: null, readsData: false, functions: [] },
    ...{ tables: [{ name, select }], files: [{ path, pin: '1' }] },
  });
  planning.end();
  return { ...answer, sql, tables: [table], settings };
}

beforeAll(async () => {
  const writer = await DuckDBInstance.create(':memory:');
  const connection = await writer.connect();
  await connection.run(
    `COPY (SELECT i AS a, i % 7 AS b, {'x': i} AS s FROM range(100) t(i)) TO '${path}' (FORMAT parquet)`,
  );
  connection.closeSync();
  writer.closeSync();
  const pin = { path, bytes: statSync(path).size, mtimeNs: '1', footer: 'f' };
  const columns = [
    { name: 'a', type: 'BIGINT', bytes: null },
    { name: 'b', type: 'BIGINT', bytes: null },
    { name: 's', type: 'STRUCT(x BIGINT)', bytes: null },
  ];
  table = {
    ...{ name: 't', format: 'parquet', options: '', root: null, columns },
    files: [{ ...pin, rows: 100, groups: [100] }],
    select: `SELECT * FROM read_parquet(['${path}'])`,
  };
  input = await inputOf(SQL);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(async () => {
  work = new Work();
  instance = await instances.take({ kind: 'bind', files: [] });
});

afterEach(() => {
  work.end();
  instance.release();
});

async function connect(): Promise<SessionConnection> {
  const connection = await work.take(instance.sessions, 'plan');
  await connection.begin('UTC');
  return connection;
}

/** Distributes the query, and has its fragments bound as `change` makes them. */
function made(change: (sql: string) => string): Promise<DistributeAnswer> {
  return distributed(input, (plan) => {
    const stages = plan.stages.map((stage) => {
      const { fragment } = stage;
      return { ...stage, fragment: { ...fragment, sql: change(fragment.sql) } };
    });
    return bound(connect, { ...plan, stages }, [table]);
  });
}

function planIn({ plan }: DistributeAnswer): QueryPlan {
  return JSON.parse(plan) as QueryPlan;
}

describe('a query whose fragments', () => {
  test('DuckDB binds as planned is split', async () => {
    const answer = await made((sql) => sql);
    expect(answer).toMatchObject({ faults: [], isSound: true });
    expect(planIn(answer).single).toBeNull();
    expect(planIn(answer).stages.length).toBeGreaterThan(1);
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
    const answer = await made(change);
    const plan = planIn(answer);
    expect(plan.single).toMatch(/^DuckDB binds one of its fragments differently/);
    expect(plan.stages).toHaveLength(1);
    expect(plan.stages[0]?.fragment.sql).toBe(SQL);
    expect(answer.faults).toEqual([expect.stringMatching(reason)]);
    expect(answer.isSound).toBe(true);
  });

  test('cannot be bound now runs as a single fragment, and is planned again the next time', async () => {
    const answer = await distributed(input, () => Promise.reject(new Error('It is not there.')));
    expect(planIn(answer).single).not.toBeNull();
    expect(answer.faults).toEqual([expect.stringContaining('It is not there.')]);
    expect(answer.isSound).toBe(false);
  });

  test('are not there, because it reads nothing, binds nothing', async () => {
    const whole = await inputOf('SELECT 1 AS one');
    const answer = await distributed(whole, () => expect.fail('it was bound'));
    expect(planIn(answer).single).not.toBeNull();
    expect(answer.faults).toEqual([]);
  });
});

describe('a plan that cannot be read runs as a single fragment', () => {
  const unread = (plan: string): Promise<DistributeAnswer> =>
    distributed({ ...input, plan }, () => expect.fail('it was bound'));

  test('and the reason is logged, if it is not one of those that are known', async () => {
    const answer = await unread('{"error": "novel"}');
    expect(planIn(answer).stages).toHaveLength(1);
    expect(planIn(answer).single).toBe('its DuckDB plan has a part that is not supported');
    expect(answer.faults).toEqual([expect.stringContaining('no boolean at plan.error')]);
  });

  test('and nothing is logged, if it is known not to be distributable', async () => {
    const answer = await unread('{"error": false');
    expect(planIn(answer).single).toContain('a constant that DuckDB cannot write');
    expect(answer.faults).toEqual([]);
  });
});
