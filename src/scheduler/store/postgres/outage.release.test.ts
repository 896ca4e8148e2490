/** The server is away for a while, or refuses, and comes back. */
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { isMillraceError } from '../../core/index.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import { within } from '../../../../test/rig/cluster/deadline.ts';
import { Proxy, targetOf } from '../../../../test/rig/cluster/proxy.ts';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { termId } from '../../../../test/rig/conformance/rows.ts';
import { openPostgresStore, type PostgresStore } from './open.ts';
import { ReadPool } from './pool.ts';
import { GRACE_MS } from './leader-vacancy.ts';

const RIVAL = { nodeId: 'node-b', term: termId('b') };

async function openThrough(proxy: Proxy, url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url: proxy.through(url) });
  onTestFinished(() => store.close());
  return store;
}

test('reads are refused at once in an outage, however long, and answered soon after it', async () => {
  const { url } = await openTestStore();
  const proxy = await Proxy.start(targetOf(url));
  const pool = new ReadPool({ url: proxy.through(url), ttlMs: 10_000, applicationName: 'test' });
  onTestFinished(() => pool.close());
  const read = () => within(5_000, pool.run('select 1 as one', []), () => 'an answer to a read');
  expect(await read()).toMatchObject([{ one: 1 }]);
  await proxy.refuse();
  // Each is two attempts. The waits of a driver that is left to itself come to 20 s after eight.
  for (let reads = 0; reads < 12; reads += 1) {
    await expect(read()).rejects.toMatchObject({ code: 'store_unavailable' });
  }
  await proxy.heal();
  expect(await read()).toMatchObject([{ one: 1 }]);
});

test('no read is forgotten when its connection is reset at the moment it is sent', async () => {
  const { url } = await openTestStore();
  const proxy = await Proxy.start(targetOf(url));
  const pool = new ReadPool({ url: proxy.through(url), ttlMs: 10_000, applicationName: 'test' });
  onTestFinished(() => pool.close());
  // A statement with a parameter is sent in two steps, so more of them are under way.
  const read = (value: number) =>
    within(5_000, pool.run('select $1::int as value', [value]), () => `an answer to read ${value}`);
  for (let round = 0; round < 60; round += 1) {
    const reads = Array.from({ length: 6 }, (_, at) => read(at));
    for (let turn = 0; turn < round % 6; turn += 1) await new Promise(setImmediate);
    proxy.cut();
    reads.push(...Array.from({ length: 6 }, (_, at) => read(at)));
    for (const outcome of await Promise.allSettled(reads)) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'store_unavailable' });
    }
  }
  expect(await read(7)).toMatchObject([{ value: 7 }]);
});

test('a leader without a connection tries often enough to be back within the grace, and no oftener', async () => {
  const { url } = await openTestStore();
  const server = await Proxy.start(targetOf(url));
  let attempts: number[] = [];
  const many = deferred();
  const front = await Proxy.start(server, {
    inspect: () => {
      attempts.push(systemClock.monotonicMs());
      if (attempts.length === 12) many.resolve();
      return { request: () => {}, answer: () => 'forward' };
    },
  });
  const store = await openThrough(front, url);
  await TestLeader.of(store, 0);
  attempts = [];
  await server.refuse();
  await many.promise;
  const gaps = attempts.slice(1).map((at, before) => at - (attempts[before] ?? 0));
  // After the first few, which are for a connection that was lost alone.
  const settled = gaps.slice(5).toSorted((a, b) => a - b);
  // The median: a machine that is busy elsewhere may hold up a single attempt.
  expect(settled.at(settled.length / 2)).toBeLessThan(GRACE_MS);
  expect(settled[0]).toBeGreaterThan(GRACE_MS / 5);
});

test('a leader that could not give its shard back for want of a connection does so with the next', async () => {
  const { store: rival, url } = await openTestStore();
  const proxy = await Proxy.start(targetOf(url));
  const store = await openThrough(proxy, url);
  const { term } = await TestLeader.of(store, 0);
  await proxy.refuse();
  // Whether the loss was noticed before or after the statement was sent.
  await expect(store.resign(term)).rejects.toSatisfy(
    (error) =>
      isMillraceError(error, 'store_unavailable') || isMillraceError(error, 'outcome_unknown'),
  );
  await proxy.heal();
  // Nobody asks that leader again.
  const stop = new AbortController();
  const vacant = within(5_000, rival.whenVacant(0, stop.signal), () => 'a shard that is free');
  const vacated = await vacant.finally(() => stop.abort());
  expect(vacated).toBe(1);
  const campaign = await rival.campaign(candidacy(0, { ...RIVAL, vacated: 1 }));
  // Given back, not taken.
  expect(campaign).toMatchObject({ won: true, previous: null });
});
