import { expect, test } from 'vitest';
import type { EngineLimits, FragmentEngine } from '../engine.ts';
import { EnginePool } from './pool.ts';

const never = new AbortController().signal;
const SMALL = { memoryBytes: 1, threads: 1 };
const LARGE = { memoryBytes: 2, threads: 1 };

function poolOf(slots: number): { pool: EnginePool; log: string[] } {
  const log: string[] = [];
  const start = ({ memoryBytes }: EngineLimits): FragmentEngine => {
    const name = `${memoryBytes}/${log.filter((each) => each.startsWith('start')).length}`;
    log.push(`start ${name}`);
    return {
      warm: async () => (log.push(`warm ${name}`), 'v1'),
      close: async () => void log.push(`close ${name}`),
      run: () => Promise.reject(new Error('not here')),
      rows: () => {
        throw new Error('not here');
      },
    };
  };
  const limits = { spillFolder: '/none', spillBytesMax: 0 };
  return { pool: new EnginePool({ ...limits, slots, start }), log };
}

test('reuses a released engine', async () => {
  const { pool, log } = poolOf(2);
  const first = await pool.acquire(SMALL, never);
  first.release();
  first.release();
  const second = await pool.acquire(SMALL, never);
  expect(second.engine).toBe(first.engine);
  expect(log).toEqual(['start 1/0']);
});

test('replaces the engine that was idle longest by one of another size', async () => {
  const { pool, log } = poolOf(2);
  const [a, b] = [await pool.acquire(SMALL, never), await pool.acquire(SMALL, never)];
  b.release();
  a.release();
  const large = await pool.acquire(LARGE, never);
  expect(log).toEqual(['start 1/0', 'start 1/1', 'close 1/1', 'start 2/2']);
  large.release();
  expect((await pool.acquire(SMALL, never)).engine).toBe(a.engine);
});

test('acquires no more engines than there are slots', async () => {
  const { pool } = poolOf(1);
  const first = await pool.acquire(SMALL, never);
  const tired = new AbortController();
  const waiting = pool.acquire(SMALL, tired.signal);
  tired.abort(new Error('no more'));
  await expect(waiting).rejects.toThrow('no more');
  const next = pool.acquire(LARGE, never);
  first.release();
  (await next).release();
});

test('warms up missing engines; closing ends all and refuses more', async () => {
  const { pool, log } = poolOf(2);
  const lent = await pool.acquire(SMALL, never);
  await pool.warm(SMALL);
  expect(log).toEqual(['start 1/0', 'start 1/1', 'warm 1/1']);
  await pool.close();
  expect(log.slice(3)).toEqual(['close 1/1', 'close 1/0']);
  lent.release();
  await expect(pool.acquire(SMALL, never)).rejects.toMatchObject({ code: 'shutting_down' });
});
