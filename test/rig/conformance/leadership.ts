import { expect, test } from 'vitest';
import { batchOf, jobNo } from '../../../src/scheduler/core/index.ts';
import type { Term } from '../../../src/scheduler/store/index.ts';
import { candidacy, shardContent, TTL_MS } from './leader.ts';
import { aJob, aNode, termId } from './rows.ts';
import type { Bench } from './bench.ts';

const DEPOSED = { code: 'deposed' };
const RETENTION = { jobsMs: 0, eventsMs: 0, keysMs: 0, jobsMax: 10 };

export function leadershipTests(bench: Bench): void {
  campaignTests(bench);
  termTests(bench);
  fencingTests(bench);
}

function campaignTests({ store, newShard }: Bench): void {
  test('a shard that nobody has led has no leader', async () => {
    expect(await store().leader(newShard())).toBeNull();
  });

  test('the first candidate wins with epoch 1', async () => {
    const shard = newShard();
    const campaign = await store().campaign(candidacy(shard));
    expect(campaign).toMatchObject({ won: true, term: { shard, epoch: 1 }, previous: null });
  });

  test('the second candidate learns who leads, until when, and where', async () => {
    const shard = newShard();
    const first = await store().campaign(candidacy(shard));
    const second = await store().campaign(
      candidacy(shard, { nodeId: 'node-b', term: termId('other') }),
    );
    expect(second).toMatchObject({
      won: false,
      leader: {
        nodeId: 'node-a',
        url: 'http://127.0.0.1:7070',
        grpc: '127.0.0.1:7071',
        epoch: 1,
        term: `term-${shard}`,
      },
    });
    const leader = await store().leader(shard);
    expect(second).toMatchObject({ leader });
    expect(Math.abs((leader?.expiresAt ?? 0) - first.now - TTL_MS)).toBeLessThanOrEqual(1);
  });

  test('of many candidates at once exactly one wins', async () => {
    const shard = newShard();
    const names = Array.from({ length: 8 }, (_, at) => `node-${at}`);
    const campaigns = await Promise.all(
      names.map((nodeId) => store().campaign(candidacy(shard, { nodeId, term: termId(nodeId) }))),
    );
    expect(campaigns.filter((campaign) => campaign.won)).toHaveLength(1);
  });

  test('an expired leader is replaced with the next epoch', async () => {
    const shard = newShard();
    await store().campaign(candidacy(shard, { ttlMs: 0 }));
    const next = await store().campaign(candidacy(shard, { nodeId: 'node-b', term: termId('b') }));
    expect(next).toMatchObject({ won: true, term: { epoch: 2, id: 'b' } });
    // Its time was up, which proves nothing about its process.
    const previous = { nodeId: 'node-a', epoch: 1, isGone: false };
    expect(next).toMatchObject({ previous });
    expect(await store().leader(shard)).toMatchObject({ nodeId: 'node-b', epoch: 2 });
  });

  test('a leader that is there is not deposed by the claim that it is gone', async () => {
    const shard = newShard();
    await store().campaign(candidacy(shard));
    const rival = { nodeId: 'node-b', term: termId('b'), vacated: 1 };
    expect(await store().campaign(candidacy(shard, rival))).toMatchObject({ won: false });
    expect(await store().leader(shard)).toMatchObject({ nodeId: 'node-a', epoch: 1 });
  });

  test('shards are led independently', async () => {
    const [one, two] = [newShard(), newShard()];
    await store().campaign(candidacy(one));
    expect(await store().campaign(candidacy(two))).toMatchObject({ won: true, term: { epoch: 1 } });
  });

  test('a candidate without addresses may lead', async () => {
    const shard = newShard();
    await store().campaign(candidacy(shard, { url: null, grpc: null }));
    expect(await store().leader(shard)).toMatchObject({ url: null, grpc: null });
  });
}

function termTests({ store, newShard, newLeader }: Bench): void {
  test('a released shard is free at once, and goes on with the next epoch', async () => {
    const { term, shard } = await newLeader();
    await store().resign(term);
    expect(await store().leader(shard)).toBeNull();
    const next = await store().campaign(candidacy(shard, { term: termId('next') }));
    expect(next).toMatchObject({ won: true, term: { epoch: 2 }, previous: null });
  });

  test('resigning twice, or from a shard that another leads, does nothing', async () => {
    const { term, shard } = await newLeader();
    await store().resign(term);
    await store().resign(term);
    await store().campaign(candidacy(shard, { nodeId: 'node-b', term: termId('b') }));
    await store().resign(term);
    await store().resign({ shard: newShard(), epoch: 1, id: termId('nobody') });
    expect(await store().leader(shard)).toMatchObject({ nodeId: 'node-b' });
  });

  test('renewal extends the leader term and answers the time', async () => {
    const { term, shard } = await newLeader();
    const now = await store().renew(term, TTL_MS * 2, 0);
    const leader = await store().leader(shard);
    expect(Math.abs((leader?.expiresAt ?? 0) - now - TTL_MS * 2)).toBeLessThanOrEqual(1);
  });

  test('a commit extends the leader term and answers the time', async () => {
    const { term, shard, now: before } = await newLeader();
    const batch = batchOf({ commitNo: 1, lastSeq: 0, nextJobNo: jobNo(1) });
    const now = await store().commit(term, TTL_MS * 3, batch);
    expect(now).toBeGreaterThanOrEqual(before);
    const leader = await store().leader(shard);
    expect(Math.abs((leader?.expiresAt ?? 0) - now - TTL_MS * 3)).toBeLessThanOrEqual(1);
  });

  test('a leader past its time still leads while nobody has replaced it', async () => {
    const shard = newShard();
    const campaign = await store().campaign(candidacy(shard, { ttlMs: 0 }));
    if (!campaign.won) throw new Error('the shard is new');
    await store().renew(campaign.term, TTL_MS, 0);
    expect(await store().campaign(candidacy(shard))).toMatchObject({ won: false });
  });

  test('instants are whole milliseconds', async () => {
    const { term, shard, now } = await newLeader();
    const renewed = await store().renew(term, TTL_MS, 0);
    const image = await store().loadCluster(shard);
    for (const at of [now, renewed, image.now]) expect(Number.isSafeInteger(at)).toBe(true);
  });
}

/** Each way of not leading, made from a leader's true term. */
const OLD_TERMS: Readonly<Record<string, (term: Term, freeShard: number) => Term>> = {
  'with an old epoch': (term) => ({ ...term, epoch: term.epoch - 1 }),
  'with a future epoch': (term) => ({ ...term, epoch: term.epoch + 1 }),
  'with another term id': (term) => ({ ...term, id: termId('restored') }),
  'for a shard it never led': (term, freeShard) => ({ ...term, shard: freeShard }),
};

function fencingTests({ store, newShard, newLeader }: Bench): void {
  for (const [how, spoil] of Object.entries(OLD_TERMS)) {
    test(`a write ${how} changes nothing and gets "deposed"`, async () => {
      const leader = await newLeader();
      await leader.submit(aJob(1));
      const before = await shardContent(store(), leader.shard);
      const term = spoil(leader.term, newShard());
      const batch = leader.batch({ jobInserts: [aJob(2)], nodeUpserts: [aNode('w-1')] });
      await expect(store().commit(term, TTL_MS, batch)).rejects.toMatchObject(DEPOSED);
      await expect(store().renew(term, TTL_MS, 0)).rejects.toMatchObject(DEPOSED);
      await expect(store().prune(term, RETENTION)).rejects.toMatchObject(DEPOSED);
      expect(await shardContent(store(), leader.shard)).toEqual(before);
      expect(await store().jobs(term.shard, { limit: 9 })).toHaveLength(
        term.shard === leader.shard ? 1 : 0,
      );
    });
  }

  test('a leader of another shard cannot write into this one', async () => {
    const [ours, theirs] = [await newLeader(), await newLeader()];
    const term = { ...theirs.term, shard: ours.shard };
    const batch = ours.batch({ jobInserts: [aJob(1)] });
    await expect(store().commit(term, TTL_MS, batch)).rejects.toMatchObject(DEPOSED);
    expect(await store().jobs(ours.shard, { limit: 9 })).toEqual([]);
  });

  test('after resigning, nothing can be written', async () => {
    const leader = await newLeader();
    await store().resign(leader.term);
    await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject(DEPOSED);
    await expect(store().renew(leader.term, TTL_MS, 0)).rejects.toMatchObject(DEPOSED);
    expect(await store().jobs(leader.shard, { limit: 9 })).toEqual([]);
    expect(await store().leader(leader.shard)).toBeNull();
  });

  test('a replaced leader is deposed by its successor', async () => {
    const leader = await newLeader();
    await store().renew(leader.term, 0, 0);
    await store().campaign(candidacy(leader.shard, { nodeId: 'node-b', term: termId('b') }));
    await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject(DEPOSED);
    await expect(store().renew(leader.term, TTL_MS, 0)).rejects.toMatchObject(DEPOSED);
    expect(await store().leader(leader.shard)).toMatchObject({ nodeId: 'node-b', epoch: 2 });
  });
}
