/** Every hostile statement in every way in: as text, as a parameter, in a plan, and as a step of a flow. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatementType } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { eachOf } from '../../src/kit/index.ts';
import { openNode, writeParquet } from './node/node.ts';
import type { Answer, QueryBench } from './node/node.ts';
import { type Attack, attacks, statements } from './hostile.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const AT_ONCE = 4;
const SECRET = 'nobody-may-read-this-0123456789';
const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'millrace-hostile-'));
const at = (name: string): string => join(folder, name);
const targets = { secret: at('data/secret.txt'), victim: at('data/victim') };
const tables = { t: at('data/t.parquet') };
/** What a refusal may be. */
const CODES = /^(bad_query|bad_input|path_refused|table_missing)$/;

let all: readonly Attack[] = [];
let before = '';

beforeAll(async () => {
  mkdirSync(at('data'));
  writeFileSync(targets.secret, SECRET);
  writeFileSync(`${targets.secret}.csv`, `a\n${SECRET}\n`);
  await writeParquet({ [tables.t]: 'SELECT i AS id FROM range(3) t(i)' });
  before = contents();
  all = await attacks(targets);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const firsts = (): readonly Attack[] => all.filter(({ isFirst }) => isFirst);

/** Of everything in the folder, so that nothing can be changed, added or removed unseen. */
function contents(): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(file));
  return `${files.join()} ${hash.digest('hex')}`;
}

test('there is an attack for each kind of statement, and for hundreds of functions and settings', () => {
  const kinds = Object.keys(StatementType).filter((name) => !/^\d+$/.test(name));
  expect(Object.keys(statements(targets)).toSorted()).toEqual(
    kinds.filter((name) => name !== 'SELECT').toSorted(),
  );
  expect(all.length).toBeGreaterThan(800);
  expect(firsts().length).toBeGreaterThan(350);
  expect(all.filter(({ isAllowed }) => isAllowed).length).toBeLessThan(60);
});

describe.each([
  ['without a root', {}],
  ['with a root', { MILLRACE_ROOTS: folder }],
])('on a server %s', (_, settings) => {
  let bench: QueryBench;
  beforeAll(async () => {
    bench = await openNode({ ...settings, MILLRACE_SLOTS: '4' });
  });
  afterAll(async () => {
    await bench.close();
    expect(contents()).toBe(before);
  });

  /** What is wrong with an answer; null when it was refused, or allowed and harmless. */
  const wrong = async (
    { sql, isAllowed }: Pick<Attack, 'sql' | 'isAllowed'>,
    answer: Answer,
  ): Promise<string | null> => {
    if (answer.text.includes(SECRET)) return `${sql}: tells the secret`;
    if (answer.status !== 201) {
      return CODES.test(answer.body.code) ? null : `${sql}: ${answer.status} ${answer.text}`;
    }
    if (!isAllowed) return `${sql}: was accepted`;
    await bench.call('GET', `/${answer.body.id}?wait=60000`);
    const { text } = await bench.call('GET', `/${answer.body.id}/results?format=csv`);
    return text.includes(SECRET) ? `${sql}: tells the secret` : null;
  };

  const tried = async (
    those: readonly Attack[],
    request: (attack: Attack) => object,
  ): Promise<readonly string[]> => {
    const found = await eachOf(those, AT_ONCE, never, async (attack) =>
      wrong(attack, await bench.call('POST', '', request(attack))),
    );
    return found.filter((each) => each !== null);
  };

  test('none gets through as text', async () => {
    expect(await tried(all, ({ sql }) => ({ sql, tables }))).toEqual([]);
  });

  test('each is plain text as a parameter', async () => {
    const params = [all.map(({ sql }) => sql)];
    expect(await bench.rows({ sql: 'SELECT ? AS x FROM t LIMIT 1', params, tables })).toEqual([
      params,
    ]);
    const places = ['FROM ?', 'SELECT 1 FROM t TABLESAMPLE ?', 'SELECT 1::?', 'SELECT e?'];
    const found = await eachOf(all.slice(0, 40), AT_ONCE, never, async ({ sql: text }, no) => {
      const sql = places[no % places.length];
      const answer = await bench.call('POST', '', { sql, params: [text], tables });
      return wrong({ sql: `${sql} with ${text}`, isAllowed: false }, answer);
    });
    expect(found.filter((each) => each !== null)).toEqual([]);
  });

  test('none gets through in a plan', async () => {
    const { body } = await bench.call('POST', '/explain', {
      ...{ sql: 'SELECT id, count(*) FROM t GROUP BY id', tables },
      settings: { shufflePartitions: 2, singleFragmentBytes: 0 },
    });
    const { plan } = body;
    const [first, ...others] = plan.stages;
    const whole = await tried(firsts(), ({ sql }) => {
      const stage = { ...first, fragment: { ...first?.fragment, sql } };
      return { plan: { ...plan, stages: [stage, ...others] }, tables };
    });
    expect(whole).toEqual([]);
    const some = firsts().filter((_, no) => no % 8 === 0);
    const keys = await tried(some, ({ sql }) => {
      const output = { kind: 'hash', partitions: 2, by: [`c0) OR EXISTS (${sql}`] };
      return { plan: { ...plan, stages: [{ ...first, output }, ...others] }, tables };
    });
    expect(keys).toEqual([]);
  });

  test('none gets through as a step of a flow', async () => {
    const steps = firsts().filter(({ isAllowed }) => !isAllowed);
    const tasks = steps.map(({ sql }, no) => ({
      ...{ id: `s${no}`, executor: 'sql', input: { sql, tables }, retry: { maxAttempts: 1 } },
    }));
    const call = async (path: string, body?: object): Promise<Record<string, unknown>> => {
      const answer = await fetch(`${bench.url}/api/v1${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return (await answer.json()) as Record<string, unknown>;
    };
    const { id, detail } = await call('/jobs', { tasks });
    expect(detail).toBeUndefined();
    const job = await vi.waitFor(
      async () => {
        const found = await call(`/jobs/${String(id)}`);
        expect(found['state']).toBe('failed');
        return found;
      },
      { timeout: 300_000, interval: 250 },
    );
    const text = JSON.stringify(job);
    expect(text).not.toContain(SECRET);
    const states = (job['tasks'] as readonly { readonly state: string }[]).map(
      ({ state }) => state,
    );
    expect(states.filter((state) => state === 'succeeded')).toEqual([]);
  });

  test('the server still works afterwards', async () => {
    expect(await bench.rows({ sql: 'SELECT sum(id) AS n FROM t', tables })).toEqual([['3']]);
  });
});
