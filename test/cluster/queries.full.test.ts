import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import {
  BY_NETWORK,
  QueryCluster,
  SLOW,
  damage,
  isLinux,
  letGo,
  recomputed,
  refusedWith,
} from '../rig/cluster/query-cluster.ts';
import { until } from '../rig/until.ts';

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
    const fixture = await QueryCluster.start(here);
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    await Promise.all(fixture.cluster.workers.map(({ process }) => process.crash()));
    await fixture.cluster.startWorker();
    expect(recomputed(await fixture.expectRight(id, SLOW))).toBe(4);
    await fixture.end();
  });

  test('is not disturbed by a draining worker, which stays until its outputs were read', async () => {
    const fixture = await QueryCluster.start(here);
    const [one, two] = [fixture.worker(1), fixture.worker(2)];
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    await fixture.cluster.client.drain(one.id);
    letGo(one, two);
    expect(recomputed(await fixture.expectRight(id, SLOW))).toBe(0);
    expect(await one.process.exited).toMatchObject({ code: 0 });
    await fixture.end();
  });

  test('fails when what it reads is damaged again and again, and does not hang', async () => {
    const fixture = await QueryCluster.start(here, { workers: 1 });
    const id = await fixture.submit(SLOW);
    const harmed = new Set<string>();
    let isOver = false;
    const harm = until(
      async () => {
        for (const folder of await fixture.outputs(fixture.worker(1), id)) {
          if (!/\.s0\.\d+\.\d+$/.test(folder) || harmed.has(folder)) continue;
          harmed.add(folder);
          await damage(folder);
        }
        return isOver;
      },
      'the query goes on',
      80_000,
    );
    const { state, error } = await fixture.ended(id);
    isOver = true;
    await harm;
    expect(state).toBe('failed');
    // Of the reader, or of those whose outputs it could not read.
    expect(error?.code).toMatch(/^(input_lost|dead)$/);
    expect(error?.message).toMatch(/was lost \d times/);
    expect(harmed.size).toBeGreaterThan(8);
    await fixture.end();
  });

  test('waits no longer than a while for a worker that has stopped', async () => {
    const fixture = await QueryCluster.start(here, {
      settings: { sessionTtlMs: 2_500, nodeDeadMs: 3_500 },
    });
    const [one, two] = [fixture.worker(1), fixture.worker(2)];
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    one.process.pause();
    letGo(two);
    expect(recomputed(await fixture.expectRight(id, SLOW))).toBeGreaterThan(0);
    one.process.resume();
    await fixture.end();
  });
});

describe.runIf(isLinux)('a query that needs more than there is', () => {
  test.each([
    ['out_of_memory', GREEDY, '400MB'],
    ['disk_full', WIDE, '4MB'],
  ])('fails after one more try with %s, and others go on', async (code, sql, spill) => {
    const args = [...BY_NETWORK, '--memory', '64MB', '--spill-bytes-max', spill];
    const fixture = await QueryCluster.start(here, { args });
    const id = await fixture.submit(sql, { memoryBytes: 17 * 2 ** 20 });
    const count = await fixture.submit(COUNT);
    await fixture.expectRight(count, COUNT);
    expect(await fixture.ended(id)).toMatchObject({ state: 'failed', error: { code } });
    const failed = [...(await fixture.tasks(id)).values()].filter(
      ({ state }) => state === 'failed',
    );
    expect(failed).toHaveLength(1);
    // Each of the two shortages has one more try, and a task can meet both.
    expect([2, 3]).toContain(failed[0]?.attempt);
    const after = await fixture.submit(SLOW);
    await fixture.expectRight(after, SLOW);
    await fixture.end();
  });
});

describe.runIf(isLinux)('a query that is over', () => {
  test('runs again from its plan, and is forked with it, though all it made is gone', async () => {
    const fixture = await QueryCluster.start(here, { settings: { maxQueries: 1 } });
    const { client } = fixture.cluster;
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    const before = await fixture.tasks(id);
    await fixture.cancel(id);
    letGo(...fixture.cluster.workers);
    await fixture.ended(id);
    expect(await refusedWith(fixture.rows(id))).toBe('conflict');
    // Until its files are gone, too.
    for (const worker of fixture.cluster.workers)
      await until(async () => (await fixture.outputs(worker, id)).length === 0, 'files stay');
    await client.call({ method: 'POST', path: `/api/v1/jobs/${id}/rerun` });
    await fixture.expectRight(id, SLOW);
    const runs = [...(await fixture.tasks(id)).values()].map(({ run }) => run);
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
    await fixture.expectRight(fork.id, SLOW);
    // None of them has kept its place.
    const next = await fixture.submit(COUNT);
    await fixture.expectRight(next, COUNT);
    await fixture.end();
  });
});
