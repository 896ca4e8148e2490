import { beforeEach, describe, expect, test } from 'vitest';
import type { TablesRequest } from '../catalog/index.ts';
import { MillraceError, QUERY_OUTPUT_START, checkedSettings } from '../../scheduler/core/index.ts';
import type { LogicalAnswer, PlanRequest } from '../engine/index.ts';
import { deferred } from '../../kit/index.ts';
import { planQuery, type QueryPlan } from '../plan/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { SqlPlanner } from './planner.ts';
import type { QueryPlannerOptions } from './planner.ts';

const never = new AbortController().signal;

/** A plan that nobody can read: such queries run whole. */
function answerTo({ sql, timeZone }: PlanRequest): LogicalAnswer {
  return {
    sql,
    columns: [{ name: 'one', type: 'INTEGER' }],
    plan: null,
    whyNot: 'the test says so',
    estimates: null,
    session: { timeZone, now: '2026-11-15 00:00:00+00' },
    duckdb: 'v1.5.6',
  };
}

type Engine = QueryPlannerOptions['engine'];

/** An engine that splits nothing. */
function engineOf(plan: Engine['plan']): Engine {
  return {
    plan,
    distribute: async ({ tables, settings, ...request }, signal) => {
      const answer = await plan({ ...request, tables }, signal);
      const whole = planQuery({ ...answer, tables, settings, logical: null });
      return { plan: whole, faults: [], isSound: false };
    },
  };
}

let clock: VirtualClock;
let asked: { readonly tables: TablesRequest[]; readonly plans: PlanRequest[] };
let faults: unknown[];

beforeEach(() => {
  clock = new VirtualClock();
  asked = { tables: [], plans: [] };
  faults = [];
});

function planner(more: Partial<QueryPlannerOptions> = {}): SqlPlanner {
  return new SqlPlanner({
    catalog: {
      names: () => Promise.resolve(['a']),
      scope: (tables) => Promise.resolve(`of ${JSON.stringify(tables)}`),
      resolve: (request) => {
        asked.tables.push(request);
        return Promise.resolve([]);
      },
    },
    engine: engineOf((request) => {
      asked.plans.push(request);
      return Promise.resolve(answerTo(request));
    }),
    settings: checkedSettings(),
    slots: () => 3,
    clock,
    planMs: 20_000,
    onFault: (error) => faults.push(error),
    ...more,
  });
}

function planIn(seeds: ReadonlyMap<unknown, { readonly result: string | null }>): QueryPlan {
  const [seed] = seeds.values();
  return JSON.parse(seed?.result ?? 'null') as QueryPlan;
}

describe('a query becomes a job', () => {
  test('which is recognised as a query, and runs as many tasks at a time as is set', async () => {
    const { document } = await planner().plan({ sql: 'select 1' }, never);
    expect(document.maxParallel).toBe(32);
    expect(document.output?.startsWith(QUERY_OUTPUT_START)).toBe(true);
    const settings = checkedSettings({ tasksPerQuery: 5 });
    expect((await planner({ settings }).plan({ sql: 'x' }, never)).document.maxParallel).toBe(5);
  });

  test('whose first task has the plan, and whose words are those of the request', async () => {
    const request = {
      sql: 'select $1',
      params: [7],
      tables: { t: 'x' },
      priority: 1,
      idempotencyKey: 'k',
      settings: { timeoutMs: 5_000, maxAttempts: 2 },
    };
    const { document, seeds } = await planner().plan(request, never);
    expect(document).toMatchObject({
      name: 'sql: select $1',
      priority: 1,
      idempotencyKey: 'k',
      totalMs: 5_000,
      tasks: [{ id: 'plan' }, { id: 's0.0', options: { retry: { maxAttempts: 2 } } }],
    });
    expect(planIn(seeds)).toMatchObject({ single: 'the test says so', sql: 'select $1' });
    expect(asked.tables).toEqual([{ tables: { t: 'x' }, sql: 'select $1' }]);
    expect(asked.plans).toMatchObject([{ params: [7], timeZone: 'UTC', scope: 'of {"t":"x"}' }]);
  });

  test('and can be explained without one', async () => {
    const { plan, text } = await planner().explain({ sql: 'select 1' }, never);
    expect(plan.columns).toEqual([{ name: 'one', type: 'INTEGER' }]);
    expect(text).toContain('the test says so');
  });

  test('runs as a single fragment if the engine dies while it splits the plan, and reports the reason', async () => {
    const crash = new MillraceError({ code: 'engine_crashed', what: 'It died.' });
    const plan: Engine['plan'] = (request) => Promise.resolve(answerTo(request));
    const engine = { plan, distribute: () => Promise.reject(crash) };
    const { seeds } = await planner({ engine }).plan({ sql: 'select 1' }, never);
    expect(planIn(seeds).stages).toHaveLength(1);
    expect(planIn(seeds).single).toContain('the log of the leader has the details');
    expect(faults).toEqual([expect.stringContaining('It died.')]);
  });
});

test('slow queries of one caller do not delay another', async () => {
  const begun: string[] = [];
  const slow = deferred();
  const engine = engineOf(async (request) => {
    begun.push(`${request.caller} ${request.sql}`);
    if (request.sql === 'slow') await slow.promise;
    return answerTo(request);
  });
  const fair = planner({ engine, atOnce: 3, perCallerMax: 2 });
  const flood = Array.from({ length: 6 }, () => fair.plan({ sql: 'slow' }, never, 'greedy'));
  await fair.plan({ sql: 'quick' }, never, 'other');
  expect(begun).toEqual(['greedy slow', 'greedy slow', 'other quick']);
  slow.resolve();
  await Promise.all(flood);
  expect(fair.figures()).toMatchObject({ plans: 7, planningNow: 0 });
});

describe('what goes wrong', () => {
  test('is said with all tables of the request at hand, if one is missing', async () => {
    const what = 'Table with name linetem does not exist!';
    const plan = (): Promise<never> =>
      Promise.reject(new MillraceError({ code: 'table_missing', what }));
    const engine = engineOf(plan);
    const request = { sql: 'from linetem', tables: { lineitem: 'x' } };
    await expect(planner({ engine }).plan(request, never)).rejects.toMatchObject({ what });
    expect(asked.tables).toEqual([request, { ...request, isEach: true }]);
  });

  test('with the statement is reported with that field, and counted', async () => {
    const wrong = new MillraceError({ code: 'bad_query', what: 'line 1:1: no such thing' });
    const failing = planner({
      engine: engineOf(() => Promise.reject(wrong)),
    });
    await expect(failing.plan({ sql: 'x' }, never)).rejects.toMatchObject({
      code: 'bad_query',
      path: '/sql',
      what: 'line 1:1: no such thing',
    });
    expect(failing.figures()).toMatchObject({ plans: 0, plansFailed: 1, planningNow: 0 });
  });

  test('with the engine stays what it is', async () => {
    const crash = new MillraceError({ code: 'engine_crashed', what: 'It died.' });
    const failing = planner({
      engine: engineOf(() => Promise.reject(crash)),
    });
    await expect(failing.plan({ sql: 'x' }, never)).rejects.toBe(crash);
  });

  test('aborts a plan that takes too long', async () => {
    const engine = engineOf(
      (_request, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    const slow = planner({ engine, planMs: 1_000 });
    const planning = slow.plan({ sql: 'x' }, never);
    planning.catch(() => {});
    await clock.advance(1_000);
    await expect(planning).rejects.toThrow('within 1000 ms');
    expect(slow.figures()).toMatchObject({ plansFailed: 1, planningMs: 1_000 });
  });

  test('queues plans beyond the limit, and refuses too many', async () => {
    const gates = [deferred(), deferred()];
    let begun = 0;
    const engine = engineOf(async (request) => {
      begun += 1;
      await gates[begun - 1]?.promise;
      return answerTo(request);
    });
    const narrow = planner({ engine, atOnce: 1, waitingMax: 1 });
    const first = narrow.plan({ sql: 'one' }, never);
    const gone = new AbortController();
    const second = narrow.plan({ sql: 'two' }, gone.signal);
    await expect(narrow.plan({ sql: 'three' }, never)).rejects.toMatchObject({
      code: 'overloaded',
    });
    gone.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    const fourth = narrow.plan({ sql: 'four' }, never);
    gates[0]?.resolve();
    await first;
    gates[1]?.resolve();
    await fourth;
    expect(narrow.figures()).toMatchObject({ plans: 2, planningNow: 0 });
  });
});
