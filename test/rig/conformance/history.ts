import { expect, test } from 'vitest';
import { batchOf, jobNo } from '../../../src/scheduler/core/index.ts';
import type { Bench } from './bench.ts';
import { candidacy, shardContent, TestLeader, TTL_MS } from './leader.ts';
import { aJob, aNode, termId } from './rows.ts';

const REWOUND = { code: 'rewound' };
const NEXT = { nodeId: 'node-b', term: termId('next') };

export function historyTests(bench: Bench): void {
  commitTests(bench);
  termTests(bench);
}

function commitTests({ store, newLeader, newShard }: Bench): void {
  for (const [what, offset] of [
    ['ahead of the store', 3],
    ['behind the store', -1],
  ] as const) {
    test(`a commit of a leader that is ${what} gets "rewound" and changes nothing`, async () => {
      const leader = await newLeader();
      await leader.submit(aJob(1));
      await leader.commit({ events: [{}] });
      const before = await shardContent(store(), leader.shard);
      leader.commitNo += offset;
      await expect(leader.commit({ jobInserts: [aJob(2)] })).rejects.toMatchObject(REWOUND);
      expect(await shardContent(store(), leader.shard)).toEqual(before);
    });
  }

  test('a commit without events is part of the history', async () => {
    const leader = await newLeader();
    const before = leader.commitNo;
    await leader.commit({ nodeUpserts: [aNode('w-1')] });
    expect(await store().loadCluster(leader.shard)).toMatchObject({ commitNo: 1, lastSeq: 0 });
    leader.commitNo = before;
    await expect(leader.commit({ nodeUpserts: [aNode('w-2')] })).rejects.toMatchObject(REWOUND);
  });

  test('a renewal gets "rewound" when the last acknowledged commit is not there', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1));
    await expect(store().renew(leader.term, TTL_MS, 2)).rejects.toMatchObject(REWOUND);
    // One that was sent before the last commit knows of less than there is.
    for (const commitNo of [1, 0]) await store().renew(leader.term, TTL_MS, commitNo);
  });

  test('a deposed leader gets "deposed", whatever it knows', async () => {
    const leader = await newLeader();
    await store().resign(leader.term);
    const batch = batchOf({ commitNo: 9, lastSeq: 0, nextJobNo: jobNo(1) });
    await expect(store().commit(leader.term, TTL_MS, batch)).rejects.toMatchObject({
      code: 'deposed',
    });
  });

  test('the next epoch is above all that the candidate has seen', async () => {
    const shard = newShard();
    const first = await store().campaign(candidacy(shard, { above: 6, ttlMs: 0 }));
    expect(first).toMatchObject({ won: true, term: { epoch: 7 } });
    const second = await store().campaign(candidacy(shard, { ...NEXT, above: 3, ttlMs: 0 }));
    expect(second).toMatchObject({ won: true, term: { epoch: 8 } });
    const last = { ...NEXT, term: termId('last'), above: 20 };
    expect(await store().campaign(candidacy(shard, last))).toMatchObject({ term: { epoch: 21 } });
  });
}

function termTests({ store, newLeader, newShard, withOpened }: Bench): void {
  test('a term that never was has no end, and an unknown shard no term', async () => {
    const { shard } = await newLeader();
    expect(await store().termEnd(shard, termId('never'))).toBeNull();
    expect(await store().termEnd(newShard(), termId('never'))).toBeNull();
    expect(await store().lastSeq(newShard())).toMatchObject({ seq: 0, term: null });
  });

  test('the last term goes to the end of the history', async () => {
    const leader = await newLeader();
    const { shard, term } = leader;
    expect(await store().lastSeq(shard)).toMatchObject({ seq: 0, term: term.id });
    await leader.commit({ jobInserts: [aJob(1)], events: [{}, {}] });
    const counters = { commitNo: 1, lastSeq: 2, nextJobNo: 2 };
    expect(await store().termEnd(shard, term.id)).toEqual(counters);
  });

  test('an earlier term goes to the beginning of the next, whatever is written after it', async () => {
    const leader = await newLeader();
    const { shard, term } = leader;
    await leader.commit({ jobInserts: [aJob(1)], events: [{}, {}] });
    const ended = await store().termEnd(shard, term.id);
    await store().resign(term);
    const campaign = await store().campaign(candidacy(shard, NEXT));
    if (!campaign.won) throw new Error('the shard is free');
    expect(await store().lastSeq(shard)).toMatchObject({ seq: 2, term: NEXT.term });
    expect(await store().termEnd(shard, NEXT.term)).toEqual(ended);
    const batch = batchOf({ commitNo: 2, lastSeq: 2, nextJobNo: jobNo(5) });
    await store().commit(campaign.term, TTL_MS, batch);
    expect(await store().termEnd(shard, term.id)).toEqual(ended);
    expect(await store().termEnd(shard, NEXT.term)).toMatchObject({ nextJobNo: 5 });
  });

  test('terms are known after a restart', async () => {
    await withOpened(async ({ store: first, reopen }) => {
      const leader = await TestLeader.of(first, 0);
      await leader.commit({ jobInserts: [aJob(1)], events: [{}] });
      await first.resign(leader.term);
      const again = (await reopen?.()) ?? first;
      const end = { lastSeq: 1, nextJobNo: 2 };
      expect(await again.termEnd(0, leader.term.id)).toMatchObject(end);
      await again.campaign(candidacy(0, NEXT));
      expect(await again.termEnd(0, leader.term.id)).toMatchObject(end);
      expect(await again.lastSeq(0)).toMatchObject({ seq: 1, term: NEXT.term });
    });
  });
}
