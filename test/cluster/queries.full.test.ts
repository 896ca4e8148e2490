import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import {
  BY_NETWORK,
  QueryScene,
  SLOW,
  damage,
  isLinux,
  letGo,
  recomputed,
  refusedWith,
} from './query-scene.ts';
import { until } from './scene.ts';

const here = scratch();

/** One list of all of it: what cannot be put on the disk. */
const GREEDY = `SELECT sum(len(l)) AS n FROM
  (SELECT list(l_comment || r) AS l FROM lineitem, range(100) t(r)) q`;
/** What can be put on the disk, and is too much for it. */
const WIDE = `SELECT l_orderkey, l_comment || r AS c, row_number() OVER (ORDER BY l_comment || r, l_orderkey) AS n
  FROM lineitem, range(60) t(r) QUALIFY n % 100000 = 0`;
const COUNT = 'SELECT l_returnflag AS f, count(*) AS n FROM lineitem GROUP BY 1 ORDER BY 1';

describe.runIf(isLinux)('a query', () => {
  test('ends though all its workers are killed and another one comes', async () => {
    const scene = await QueryScene.start(here);
    const id = await scene.submit(SLOW);
    await scene.held(id);
    await Promise.all(scene.cluster.workers.map(({ process }) => process.crash()));
    await scene.cluster.startWorker();
    expect(recomputed(await scene.expectRight(id, SLOW))).toBe(4);
    await scene.end();
  });

  test('is not disturbed by a worker that drains: it stays until nobody reads from it', async () => {
    const scene = await QueryScene.start(here);
    const [one, two] = [scene.worker(1), scene.worker(2)];
    const id = await scene.submit(SLOW);
    await scene.held(id);
    await scene.cluster.client.drain(one.id);
    letGo(one, two);
    expect(recomputed(await scene.expectRight(id, SLOW))).toBe(0);
    expect(await one.process.exited).toMatchObject({ code: 0 });
    await scene.end();
  });

  test('fails when what it reads is damaged again and again, and does not hang', async () => {
    const scene = await QueryScene.start(here, { workers: 1 });
    const id = await scene.submit(SLOW);
    const harmed = new Set<string>();
    let isOver = false;
    const harm = until(
      async () => {
        for (const folder of await scene.outputs(scene.worker(1), id)) {
          if (!/\.s0\.\d+\.\d+$/.test(folder) || harmed.has(folder)) continue;
          harmed.add(folder);
          await damage(folder);
        }
        return isOver;
      },
      'the query goes on',
      80_000,
    );
    const { state, error } = await scene.ended(id);
    isOver = true;
    await harm;
    expect(state).toBe('failed');
    // Of the reader, or of those whose outputs it could not read.
    expect(error?.code).toMatch(/^(input_lost|dead)$/);
    expect(error?.message).toMatch(/was lost \d times/);
    expect(harmed.size).toBeGreaterThan(8);
    await scene.end();
  });

  test('waits no longer than a while for a worker that has stopped', async () => {
    const scene = await QueryScene.start(here, {
      settings: { sessionTtlMs: 2_500, nodeDeadMs: 3_500 },
    });
    const [one, two] = [scene.worker(1), scene.worker(2)];
    const id = await scene.submit(SLOW);
    await scene.held(id);
    one.process.pause();
    letGo(two);
    expect(recomputed(await scene.expectRight(id, SLOW))).toBeGreaterThan(0);
    one.process.resume();
    await scene.end();
  });
});

describe.runIf(isLinux)('a query that needs more than there is', () => {
  test.each([
    ['out_of_memory', GREEDY, '400MB'],
    ['disk_full', WIDE, '4MB'],
  ])('fails after one more try with %s, and others go on', async (code, sql, spill) => {
    const args = [...BY_NETWORK, '--memory', '64MB', '--spill-bytes-max', spill];
    const scene = await QueryScene.start(here, { args });
    const id = await scene.submit(sql, { memoryBytes: 17 * 2 ** 20 });
    const count = await scene.submit(COUNT);
    await scene.expectRight(count, COUNT);
    expect(await scene.ended(id)).toMatchObject({ state: 'failed', error: { code } });
    const failed = [...(await scene.tasks(id)).values()].filter(({ state }) => state === 'failed');
    expect(failed).toMatchObject([{ attempt: 2 }]);
    const after = await scene.submit(SLOW);
    await scene.expectRight(after, SLOW);
    await scene.end();
  });
});

describe.runIf(isLinux)('a query that is over', () => {
  test('runs again from its plan, and is forked with it, though all it made is gone', async () => {
    const scene = await QueryScene.start(here, { settings: { maxQueries: 1 } });
    const { client } = scene.cluster;
    const id = await scene.submit(SLOW);
    await scene.held(id);
    const before = await scene.tasks(id);
    await scene.cancel(id);
    letGo(...scene.cluster.workers);
    await scene.ended(id);
    expect(await refusedWith(scene.rows(id))).toBe('conflict');
    // Until its files are gone, too.
    for (const worker of scene.cluster.workers)
      await until(async () => (await scene.outputs(worker, id)).length === 0, 'files stay');
    await client.call({ method: 'POST', path: `/api/v1/jobs/${id}/rerun` });
    await scene.expectRight(id, SLOW);
    const runs = [...(await scene.tasks(id)).values()].map(({ run }) => run);
    expect(runs.every((run) => run === 2)).toBe(true);
    expect(before.size).toBe(runs.length);
    expect(
      await refusedWith(client.call({ method: 'POST', path: `/api/v1/jobs/${id}/rerun` })),
    ).toBe('conflict');
    const fork = (await client.call({
      method: 'POST',
      path: `/api/v1/jobs/${id}/fork`,
      body: { from: 's2.0' },
    })) as { readonly id: string };
    await scene.expectRight(fork.id, SLOW);
    // None of them has kept its place.
    const next = await scene.submit(COUNT);
    await scene.expectRight(next, COUNT);
    await scene.end();
  });
});
