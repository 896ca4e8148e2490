import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  fragment,
  FragmentFixture,
  never,
  ROWS,
  SCAN,
} from '../../../../test/rig/fragment-fixture.ts';
import type { Fragment } from '../../plan/index.ts';
import { startFragmentEngine } from './fragment-engine.ts';

const WHOLE_FILE = { bytes: 0, mtimeNs: '0', footer: '', rows: null, from: null, to: null };

let fixture: FragmentFixture;

beforeAll(async () => {
  fixture = await FragmentFixture.open();
});

afterAll(() => fixture.close());

describe('limits', () => {
  const heavy = (count: number): Fragment =>
    fragment(
      `SELECT max(x) FROM (SELECT md5(i::VARCHAR) AS x, row_number() OVER (ORDER BY md5((i * 7)::VARCHAR)) FROM range(${count}) t(i))`,
      ['VARCHAR'],
    );

  test('what does not fit in memory is spilled, and the spill folder is gone afterwards', async () => {
    const spillFolder = fixture.file('spill-1');
    const small = startFragmentEngine(fixture.limits({ memoryBytes: 32 * 2 ** 20, spillFolder }));
    try {
      const asked = fixture.order(heavy(700_000), { kind: 'result' });
      const done = await small.run(asked, never);
      expect(done.spilledBytes).toBeGreaterThan(2 ** 20);
    } finally {
      await small.close();
    }
    expect(existsSync(spillFolder)).toBe(false);
  });

  test('distinguishes a full spill folder from a lack of memory, and the engine survives', async () => {
    const tight = startFragmentEngine(
      fixture.limits({ memoryBytes: 32 * 2 ** 20, spillBytesMax: 2 ** 20 }),
    );
    try {
      const full = tight.run(fixture.order(heavy(700_000), { kind: 'result' }), never);
      await expect(full).rejects.toMatchObject({ code: 'disk_full' });
      const text = fragment(`SELECT string_agg(md5(i::VARCHAR), ',') FROM range(3_000_000) t(i)`, [
        'VARCHAR',
      ]);
      const large = tight.run(fixture.order(text, { kind: 'result' }), never);
      await expect(large).rejects.toMatchObject({ code: 'out_of_memory' });
      const after = await tight.run(
        fixture.order(fragment('SELECT 1', ['INTEGER']), { kind: 'result' }),
        never,
      );
      expect(after.rowsOut).toBe(1);
    } finally {
      await tight.close();
    }
  });

  test("reports errors of the data as final, with DuckDB's message", async () => {
    const failing = async (sql: string): Promise<unknown> => {
      const asked = fixture.result(fragment(sql, ['VARCHAR']));
      return asked.then(
        () => null,
        (error: unknown) => error,
      );
    };
    expect(await failing(`SELECT 'x'::INTEGER::VARCHAR`)).toMatchObject({
      code: 'query_failed',
      what: `Could not convert string 'x' to INT32`,
    });
    expect(await failing(`SELECT error('so not')`)).toMatchObject({
      code: 'query_failed',
      what: 'so not',
    });
    expect(await failing('SELECT (SELECT i FROM range(2) t(i))::VARCHAR')).toMatchObject({
      code: 'query_failed',
    });
  });

  test('lets a fragment open its own files only, whatever the previous one could open', async () => {
    const [t, u] = [fixture.file('t.parquet'), fixture.file('x=1/u.parquet')];
    const scanning = (path: string): Parameters<FragmentFixture['result']>[1] => ({
      ranges: { r1: [{ ...WHOLE_FILE, path }] },
    });
    const count = fragment('SELECT count(*) FROM r1', ['BIGINT'], { scans: [SCAN] });
    expect(await fixture.result(count, scanning(t))).toEqual([[String(ROWS)]]);
    expect(await fixture.result(count, scanning(u))).toEqual([['10']]);
    const reading = (path: string): Fragment =>
      fragment(`SELECT count(*) FROM '${path}', r1`, ['BIGINT'], { scans: [SCAN] });
    const refused = { code: 'path_refused' };
    for (const path of [
      u,
      '/etc/none.csv',
      `${fixture.root}/x=1/../x=1/u.parquet`,
      `${fixture.root}/*.csv`,
    ])
      await expect(fixture.result(reading(path), scanning(t))).rejects.toMatchObject(refused);
    await expect(fixture.result(reading(t), scanning(u))).rejects.toMatchObject(refused);
    // Of the same scope, a fragment may also open what the other one has opened.
    const scoped = (path: string, scope: string) => ({ ...scanning(path), scope });
    await fixture.result(count, scoped(t, 'a'));
    await expect(fixture.result(reading(u), scoped(t, 'a'))).rejects.toMatchObject(refused);
    await fixture.result(count, scoped(u, 'a'));
    expect(await fixture.result(reading(t), scoped(u, 'a'))).toEqual([[String(10 * ROWS)]]);
    await expect(fixture.result(reading(t), scoped(u, 'b'))).rejects.toMatchObject(refused);
    for (const sql of [
      `SELECT filename FROM read_text('/etc/hostname')`,
      `SELECT file FROM glob('${fixture.root}/**')`,
      `SELECT value FROM duckdb_settings() WHERE name = 'allowed_directories'`,
    ]) {
      const found = await fixture
        .result(fragment(sql, ['VARCHAR']))
        .catch((error: unknown) => error);
      expect(JSON.stringify(found)).toMatch(/path_refused|calls-/);
    }
  });
});
