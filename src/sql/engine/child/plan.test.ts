import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { PlanCall } from '../messages.ts';
import type { Doing } from './fault.ts';
import { Instances } from './instances.ts';
import { Planner } from './plan.ts';
import type { Sessions } from './sessions.ts';
import { type SessionConnection, Work } from './work.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-plan-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const instances = new Instances({
  memoryBytes: 256 * 2 ** 20,
  threads: 1,
  spillFolder: join(folder, 'spill'),
  spillBytesMax: 2 ** 30,
  folder,
  isPlanning: true,
});
const planner = new Planner(instances, 'v1.5.6');

function call(sql: string): PlanCall {
  const none = { small: null, readsData: false, tables: [], files: [], functions: [] };
  return { name: 'plan', sql, timeZone: 'UTC', ...none };
}

/** A file that no other plan asks for: it gets an instance of its own. */
function aloneWith(name: string): PlanCall['files'] {
  return [{ path: join(folder, name), pin: '' }];
}

/** Notes the statements, with the number of their connection; tells before each. */
class WatchedWork extends Work {
  readonly said: string[] = [];
  onSaid: (sql: string) => void = () => {};
  #connections = 0;

  override async take(sessions: Sessions, doing: Doing): Promise<SessionConnection> {
    const connection = await super.take(sessions, doing);
    this.#connections += 1;
    const no = this.#connections;
    const run = connection.run.bind(connection);
    connection.run = (sql) => {
      this.said.push(`${no} ${/DESCRIBE|EXPLAIN|json_serialize_\w+|SET/.exec(sql)?.[0]}`);
      this.onSaid(sql);
      return run(sql);
    };
    return connection;
  }
}

let work: WatchedWork;
beforeEach(() => {
  work = new WatchedWork();
});

test.each([
  ['SELECT 1 AS a', 'a', ['EXPLAIN', 'json_serialize_plan']],
  ['SELECT 1', '1', ['DESCRIBE', 'EXPLAIN', 'json_serialize_plan']],
])(
  'checks %s before anything is bound, then asks for the rest concurrently',
  async (sql, name, asked) => {
    // Each in an instance of its own.
    const { columns, plan, estimates } = await planner.plan(work, {
      ...call(sql),
      files: aloneWith(name),
    });
    work.end();
    expect(columns).toEqual([{ name, type: 'INTEGER' }]);
    expect(plan).toContain('"error":false');
    expect(estimates).not.toBeNull();
    const { said } = work;
    expect(said.filter((each) => each.endsWith('SET'))).toHaveLength(asked.length);
    const [first, ...rest] = said.filter((each) => !each.endsWith('SET'));
    expect(first).toBe('1 json_serialize_sql');
    // Each on a connection of its own; which of them is ready first is up to DuckDB.
    const [connections, statements] = [0, 1].map((at) => rest.map((each) => each.split(' ')[at]!));
    expect(connections!.toSorted()).toEqual(['1', '2', '3'].slice(0, asked.length));
    expect(statements!.toSorted()).toEqual(asked);
  },
);

interface Shape {
  readonly children: readonly Shape[];
}
const shapeOf = ({ children }: Shape): Shape => ({ children: children.map(shapeOf) });

test('the estimates are of the same tree as the plan', async () => {
  const rows = 'SELECT i % 7 AS a, i AS b FROM range(1000) t(i)';
  const sql = `SELECT a, count(*) AS n FROM (${rows}) JOIN (${rows}) AS o USING (a) WHERE o.b > (SELECT avg(b) FROM (${rows})) GROUP BY a ORDER BY n`;
  const { plan, estimates } = await planner.plan(work, call(sql));
  work.end();
  const [logical] = (JSON.parse(plan ?? '') as { plans: readonly Shape[] }).plans;
  const [explained] = JSON.parse(estimates ?? '') as readonly Shape[];
  expect(shapeOf(explained!)).toEqual(shapeOf(logical!));
});

test('reuses connections for the next plan, and sets only another time zone again', async () => {
  const files = aloneWith('left');
  const first = await planner.plan(work, { ...call('SELECT 1'), files });
  work.end();
  const second = new WatchedWork();
  await planner.plan(second, { ...call('SELECT 1'), files });
  second.end();
  expect(second.said.filter((each) => each.endsWith('SET'))).toEqual([]);
  const third = new WatchedWork();
  const zone = { timeZone: 'Asia/Tokyo', files };
  const sql = `SELECT strftime(TIMESTAMPTZ '2024-01-01 00:00:00+00', '%H') AS hour`;
  const { plan, session } = await planner.plan(third, { ...call(sql), ...zone });
  third.end();
  expect(third.said.filter((each) => each.endsWith('SET'))).toHaveLength(2);
  expect(plan).toContain('"09"');
  expect([first.session.timeZone, session.timeZone]).toEqual(['UTC', 'Asia/Tokyo']);
});

test('hides what several statements leave behind from the next plan', async () => {
  const files = aloneWith('several');
  const sql = 'PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)';
  for (let times = 0; times < 2; times += 1) {
    const each = new WatchedWork();
    const { columns } = await planner.plan(each, { ...call(sql), files });
    each.end();
    expect(columns.map(({ name }) => name)).toEqual(['1']);
    expect(each.said.filter((said) => said.endsWith('SET'))).toHaveLength(2);
  }
});

test('does not bind a statement that is not a query', async () => {
  await expect(planner.plan(work, call('DELETE FROM t'))).rejects.toThrow(
    'A query must be a single SELECT statement.',
  );
  work.end();
  expect(work.said.filter((each) => /DESCRIBE|EXPLAIN/.test(each))).toEqual([]);
});

test('reports the error of the description, wherever else it fails', async () => {
  await expect(planner.plan(work, call('SELECT nope'))).rejects.toMatchObject({
    fault: {
      code: 'bad_query',
      what: expect.stringContaining('"nope" was not found') as string,
      position: { at: 7, unit: 'byte' },
    },
  });
  work.end();
});

test('the time in a plan is the time of its session', async () => {
  const { plan, session } = await planner.plan(work, call('SELECT epoch_us(now()) AS n'));
  work.end();
  const [, us] = /"value":(\d{16})/.exec(plan ?? '') ?? [];
  const [, seconds, part = ''] = /^(.*?)(?:\.(\d+))?\+00$/.exec(session.now) ?? [];
  const wholeMs = Date.parse(`${seconds?.replace(' ', 'T')}Z`);
  expect(us).toBe(`${wholeMs / 1_000}${part.padEnd(6, '0')}`);
});

test('ends an endless description on abort, with the other calls', async () => {
  const endless = 'PIVOT (SELECT range % 3 AS a FROM range(10000000000000)) ON a USING count(*)';
  work.onSaid = (sql) => {
    // When it runs: what has not begun is not interrupted, but refused.
    if (sql.startsWith('DESCRIBE')) setImmediate(() => work.abort());
  };
  await expect(planner.plan(work, call(endless))).rejects.toMatchObject({
    fault: { code: 'interrupted' },
  });
  work.end();
  const other = new Work();
  expect((await planner.plan(other, call('SELECT 1'))).whyNot).toBeNull();
  other.end();
});
