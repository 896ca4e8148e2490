import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { samplePlan } from '../../../test/rig/query-job.ts';
import { checkedSettings } from '../../scheduler/core/index.ts';
import { startPlanningEngine } from '../engine/index.ts';
import type { PlanRequest, PlanningEngine } from '../engine/index.ts';
import type { OperatorDeclaration } from '../../scheduler/core/index.ts';
import type { PinnedTable, QueryPlan } from '../plan/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { PlanCache } from './plan-cache.ts';
import { SqlPlanner } from './planner.ts';

describe('the plan cache', () => {
  const chars = JSON.stringify(samplePlan).length;
  const named = (sql: string): QueryPlan => ({ ...samplePlan, sql });

  test('finds plans by their key until they expire', async () => {
    const clock = new VirtualClock();
    const kept = new PlanCache({ clock });
    kept.keep('a', samplePlan);
    expect(kept.find('a')).toBe(samplePlan);
    expect(kept.find('b')).toBeNull();
    await clock.advance(299_999);
    expect(kept.find('a')).toBe(samplePlan);
    await clock.advance(1);
    expect(kept.find('a')).toBeNull();
  });

  test('is limited in number, and evicts the least recently used', () => {
    const kept = new PlanCache({ clock: new VirtualClock(), plansMax: 2 });
    kept.keep('a', named('a'));
    kept.keep('b', named('b'));
    kept.find('a');
    kept.keep('c', named('c'));
    expect(['a', 'b', 'c'].map((key) => kept.find(key)?.sql)).toEqual(['a', undefined, 'c']);
  });

  test('is limited in size', () => {
    const kept = new PlanCache({ clock: new VirtualClock(), charsMax: 10.5 * chars });
    for (let at = 0; at < 30; at += 1) {
      kept.keep(`k${at}`, samplePlan);
      kept.keep(`k${at}`, samplePlan);
    }
    const found = Array.from({ length: 30 }, (_, at) => kept.find(`k${at}`) !== null);
    expect(found.lastIndexOf(false)).toBe(19);
    kept.keep('huge', named('x'.repeat(2 * chars)));
    expect(kept.find('huge')).toBeNull();
    expect(kept.find('k29')).not.toBeNull();
  });
});

describe('a statement that was planned before', () => {
  const never = new AbortController().signal;
  let folder = '';
  let engine: PlanningEngine;
  let table: PinnedTable;
  /** What DuckDB was asked. */
  let asked: PlanRequest[];
  let answers: QueryPlan[];
  let slots: number;
  let declared: OperatorDeclaration[];
  let planner: SqlPlanner;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-kept-plans-'));
    const path = join(folder, 't.parquet');
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT i AS a, i % 7 AS b, TIMESTAMPTZ '2024-01-01' AS ts FROM range(5000) t(i)) TO '${path}'`,
    );
    connection.closeSync();
    instance.closeSync();
    engine = startPlanningEngine({
      memoryBytes: 256 * 2 ** 20,
      threads: 1,
      spillFolder: join(folder, 'spill'),
      spillBytesMax: 2 ** 30,
    });
    const source = { format: 'parquet', files: [path], options: '', types: {} } as const;
    const { columns, files, options, select } = await engine.describe(source, never);
    const [{ rows, groups }] = files as [(typeof files)[0]];
    const pin = { path, bytes: 1, mtimeNs: '1', footer: 'f', rows, groups };
    table = { name: 't', format: 'parquet', files: [pin], columns, options, select, root: null };
  });

  afterAll(async () => {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    asked = [];
    answers = [];
    slots = 3;
    declared = [];
    planner = plannerOver(() => [table]);
  });

  function plannerOver(tables: () => readonly PinnedTable[]): SqlPlanner {
    return new SqlPlanner({
      planMs: 60_000,
      catalog: {
        names: () => Promise.resolve([]),
        scope: () => Promise.resolve('s'),
        resolve: () => Promise.resolve(tables()),
      },
      engine: {
        plan: (request, signal) => engine.plan(request, signal),
        distribute: async (request, signal) => {
          asked.push(request);
          const answer = await engine.distribute(request, signal);
          answers.push(answer.plan);
          return answer;
        },
      },
      settings: checkedSettings(),
      slots: () => slots,
      clock: new VirtualClock(),
      onFault: (error) => expect.fail(String(error)),
      custom: {
        declared: () => declared,
        engine: { operators: (request, signal) => engine.operators(request, signal) },
      },
    });
  }

  const SQL = 'SELECT b, sum(a) FROM t WHERE a > $1 GROUP BY b';
  const distributed = { settings: { singleFragmentBytes: 0 } };
  const explain = async (request: object): Promise<QueryPlan> =>
    (await planner.explain({ sql: SQL, params: [1], ...distributed, ...request }, never)).plan;

  test('is not planned by DuckDB if it is small, whatever its plan would be', async () => {
    const { plan, text } = await planner.explain({ sql: SQL, params: [1] }, never);
    const { columns } = table;
    const bytes = columns.reduce(
      (sum, { name, bytes: own }) => sum + (name === 'ts' ? 0 : (own ?? 0)),
      0,
    );
    expect(plan.single).toMatch(/^it reads only .* are not distributed$/);
    expect(plan.columns).toEqual([
      { name: 'b', type: 'BIGINT' },
      { name: 'sum(a)', type: 'HUGEINT' },
    ]);
    expect(text).toContain('it reads only');
    await planner.plan({ sql: SQL, params: [1] }, never);
    expect(asked).toHaveLength(1);
    const less = { settings: { singleFragmentBytes: bytes - 1 } };
    await planner.plan({ sql: SQL, params: [1], ...less }, never);
    expect(answers[1]?.single).toBeNull();
    await planner.plan({ sql: SQL, params: [1], settings: { singleFragmentBytes: bytes } }, never);
    expect(answers[2]?.single).toMatch(/^it reads only/);
  });

  test('is planned by DuckDB once, for a query and for an explanation of it', async () => {
    const first = await explain({});
    expect(first.stages.length).toBeGreaterThan(1);
    const { seeds } = await planner.plan({ sql: SQL, params: [1], ...distributed }, never);
    const [seed] = seeds.values();
    const again = JSON.parse(seed?.result ?? '') as QueryPlan;
    expect(asked).toHaveLength(1);
    expect(planner.figures()).toMatchObject({ plans: 2, planHits: 1 });
    expect(again).toEqual({ ...first, session: again.session });
    expect(Object.keys(again)).toEqual(Object.keys(first));
    expect(again.session.timeZone).toBe('UTC');
    expect(again.session.now).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+00$/);
    const ms = ({ session }: QueryPlan): number =>
      Date.parse(session.now.replace(' ', 'T').replace('+00', 'Z'));
    expect(ms(again)).toBeGreaterThanOrEqual(ms(first));
    expect(again.session.now).not.toBe(first.session.now);
    await explain({ params: ['1'] });
    await explain({ params: [1] });
    await explain({ sql: SQL.replace('$1', '1'), params: [] });
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['value of a parameter', { params: [2] }],
    ['time zone', { timeZone: 'Europe/Paris' }],
    ['number of parts', { settings: { singleFragmentBytes: 0, shufflePartitions: 2 } }],
    [
      'bound of what is sent to all',
      { settings: { singleFragmentBytes: 0, broadcastThresholdBytes: 1 } },
    ],
    ['bound of what is not distributed', { settings: { singleFragmentBytes: 10_000_000 } }],
  ])('is planned again for another %s', async (_what, change) => {
    const first = await explain({});
    const other = await explain(change);
    expect(asked).toHaveLength(2);
    expect(await explain(change)).toMatchObject({ stages: other.stages });
    expect(await explain({})).toMatchObject({ stages: first.stages });
    expect(asked).toHaveLength(2);
  });

  test('is planned again for another number of slots', async () => {
    expect((await explain({})).partitions).toBe(3);
    slots = 5;
    expect((await explain({})).partitions).toBe(5);
    slots = 3;
    expect((await explain({})).partitions).toBe(3);
    expect(asked).toHaveLength(2);
  });

  const CALL = "SELECT x FROM pick((SELECT a, b FROM t), of => 'A')";
  const PICK: OperatorDeclaration = {
    ...{ name: 'pick', kind: 'operator', input: null, output: [{ name: 'x', type: 'BIGINT' }] },
    ...{ distribution: 'any', isDeterministic: true },
    parameters: [{ name: 'of', type: 'column', isRequired: true }],
  };

  test('is found with custom operators, while their declarations are the same', async () => {
    declared = [PICK];
    const first = await explain({ sql: CALL, params: [] });
    expect(first).toMatchObject({ version: 3, stages: [{ requires: ['pick'] }, {}] });
    // As the input spells it.
    expect(first.stages[0]?.fragment.custom?.params).toEqual({ of: 'a' });
    const times = asked.length;
    expect(await explain({ sql: CALL, params: [] })).toMatchObject({ stages: first.stages });
    expect(asked).toHaveLength(times);
    declared = [{ ...PICK, output: [{ name: 'x', type: 'VARCHAR' }] }];
    const other = await explain({ sql: CALL, params: [] });
    expect(other.columns).toEqual([{ name: 'x', type: 'VARCHAR' }]);
    expect(asked).toHaveLength(2 * times);
  });

  test.each([
    [CALL.replace("'A'", "'c'"), /pick has no column 'c' \(parameter 'of'\).*Its columns are a, b/],
    [CALL.replace("'A'", '3'), /'of' of the operator pick must be the name of a column, not 3/],
    [
      "SELECT x FROM t AS o, LATERAL pick((SELECT o.a), of => 'a')",
      /The input of the operator pick is not valid: .*"o" not found.*LATERAL/s,
    ],
  ])('is refused when the call of an operator cannot be: %s', async (sql, message) => {
    declared = [PICK];
    await expect(explain({ sql, params: [] })).rejects.toMatchObject({
      code: 'bad_query',
      message: expect.stringMatching(message) as string,
    });
  });

  test('is planned again when a file of its tables is another one', async () => {
    const [pin] = table.files as [PinnedTable['files'][0]];
    const changes = [{ bytes: 2 }, { mtimeNs: '2' }, { footer: 'g' }];
    for (const change of changes) {
      let now = table;
      planner = plannerOver(() => [now]);
      asked = [];
      await explain({});
      now = { ...table, files: [{ ...pin, ...change }] };
      await explain({});
      await explain({});
      expect([change, asked.length]).toEqual([change, 2]);
    }
  });

  test.each([
    'SELECT a FROM t WHERE ts < now()',
    'SELECT a FROM t WHERE ts < current_timestamp',
    'SELECT a FROM t WHERE ts < ago(INTERVAL 1 DAY)',
    'SELECT a, random() FROM t',
  ])('is planned each time when it is %s', async (sql) => {
    const first = await explain({ sql, params: [] });
    const again = await explain({ sql, params: [] });
    expect(asked).toHaveLength(2);
    expect([first.session, again.session]).toEqual(answers.map(({ session }) => session));
    expect(planner.figures().planHits).toBe(0);
  });

  test('is planned each time when DuckDB could not write its plan, or refused it', async () => {
    for (let times = 0; times < 2; times += 1) {
      expect((await explain({ sql: `SELECT '101'::BIT, a FROM t`, params: [] })).single).toContain(
        'cannot write',
      );
      await expect(explain({ sql: 'SELECT nope FROM t', params: [] })).rejects.toMatchObject({
        code: 'bad_query',
        path: '/sql',
      });
    }
    expect(asked).toHaveLength(4);
    expect(planner.figures()).toMatchObject({ planHits: 0, plansFailed: 2 });
  });
});
