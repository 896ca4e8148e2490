import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fragment, FragmentScene, never } from '../../../test/fixture/fragment-scene.ts';
import type { Fragment } from '../../query/index.ts';
import { startFragmentEngine } from './fragment-engine.ts';

let scene: FragmentScene;

beforeAll(async () => {
  scene = await FragmentScene.open();
});

afterAll(() => scene.close());

describe('limits', () => {
  const heavy = (count: number): Fragment =>
    fragment(
      `SELECT max(x) FROM (SELECT md5(i::VARCHAR) AS x, row_number() OVER (ORDER BY md5((i * 7)::VARCHAR)) FROM range(${count}) t(i))`,
      ['VARCHAR'],
    );

  test('what does not fit in memory is spilled, and the spill folder is gone afterwards', async () => {
    const spillFolder = scene.file('spill-1');
    const small = startFragmentEngine(scene.limits({ memoryBytes: 32 * 2 ** 20, spillFolder }));
    try {
      const asked = scene.order(heavy(700_000), { kind: 'result' });
      const done = await small.run(asked, never);
      expect(done.spilledBytes).toBeGreaterThan(2 ** 20);
    } finally {
      await small.close();
    }
    expect(existsSync(spillFolder)).toBe(false);
  });

  test('more than may be spilled, or may be held, is told apart, and the engine goes on', async () => {
    const tight = startFragmentEngine(
      scene.limits({ memoryBytes: 32 * 2 ** 20, spillBytesMax: 2 ** 20 }),
    );
    try {
      const full = tight.run(scene.order(heavy(700_000), { kind: 'result' }), never);
      await expect(full).rejects.toMatchObject({ code: 'disk_full' });
      const text = fragment(`SELECT string_agg(md5(i::VARCHAR), ',') FROM range(3_000_000) t(i)`, [
        'VARCHAR',
      ]);
      const large = tight.run(scene.order(text, { kind: 'result' }), never);
      await expect(large).rejects.toMatchObject({ code: 'out_of_memory' });
      const after = await tight.run(
        scene.order(fragment('SELECT 1', ['INTEGER']), { kind: 'result' }),
        never,
      );
      expect(after.rowsOut).toBe(1);
    } finally {
      await tight.close();
    }
  });

  test('errors of the data are final and say what DuckDB says', async () => {
    const failing = async (sql: string): Promise<unknown> => {
      const asked = scene.result(fragment(sql, ['VARCHAR']));
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

  test('nothing outside of the folders can be read or written', async () => {
    for (const sql of [`FROM read_text('/etc/hostname')`, `FROM read_text('${scene.root}/../x')`])
      await expect(scene.result(fragment(sql, ['VARCHAR']))).rejects.toMatchObject({
        code: 'path_refused',
      });
    const asked = scene.order(
      fragment('SELECT 1', ['INTEGER']),
      { kind: 'result' },
      { folder: tmpdir() },
    );
    await expect(scene.engine.run(asked, never)).rejects.toMatchObject({ code: 'path_refused' });
  });
});
