/** How far the tables are behind the journal, and what is read meanwhile. */
import { expect, test } from 'vitest';
import { aJob, aNode, aSpec, succeeded } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { batchOf, instant, jobNo, taskNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

test('a result that comes after its task was folded is read', async () => {
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const campaign = await store.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    term: 'term' as TermId,
    ttlMs: 60_000,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  const rows = {
    jobInserts: [aJob(1)],
    specInserts: [aSpec(1, 0)],
    taskInserts: [succeeded(1, 0)],
  };
  const first = { commitNo: 1, lastSeq: 0, nextJobNo: jobNo(2) };
  await store.commit(campaign.term, 60_000, batchOf({ ...first, ...rows }));
  expect(await store.jobs(0, { limit: 9 })).toHaveLength(1);
  const task = { jobNo: jobNo(1), taskNo: taskNo(0) };
  const results = [{ ...task, run: 1, body: '7' }];
  const second = { commitNo: 2, lastSeq: 0, nextJobNo: jobNo(2) };
  await store.commit(campaign.term, 60_000, batchOf({ ...second, results }));
  expect(await store.results(0, [task])).toEqual(new Map([['1/0', '7']]));
});

test('the leader knows how many of its commits the tables lack, and a reader brings them there', async () => {
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  expect(await store.unfolded?.(0)).toBeNull();
  const campaign = await store.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    term: 'term' as TermId,
    ttlMs: 60_000,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  expect(await store.unfolded?.(0)).toBe(0);
  for (const commitNo of [1, 2, 3]) {
    const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(commitNo + 1) };
    await store.commit(
      campaign.term,
      60_000,
      batchOf({ ...counters, jobInserts: [aJob(commitNo)] }),
    );
  }
  expect(await store.unfolded?.(0)).toBe(3);
  expect(await store.jobs(0, { limit: 9 })).toHaveLength(3);
  expect(await store.unfolded?.(0)).toBe(0);
});

test('somebody who does not lead sees the change of a job that the tables have from before', async () => {
  const tables = openMemoryStore({ now: () => instant(0) });
  const options = { clock: new VirtualClock(), foldAfterMs: 100 };
  const [leading, following] = [journaled(tables, options), journaled(tables, options)];
  const own = { nodeId: 'n', url: null, grpc: null, term: 'term' as TermId, ttlMs: 60_000 };
  const campaign = await leading.campaign({ shard: 0, ...own });
  if (!campaign.won) throw new Error('nobody else is there');
  const at = (commitNo: number) => ({ commitNo, lastSeq: 0, nextJobNo: jobNo(2) });
  const { term } = campaign;
  await leading.commit(term, 60_000, batchOf({ ...at(1), jobInserts: [aJob(1)] }));
  // Only the tables can list nodes, so they have the job.
  await leading.nodes(0);
  const changed = { ...aJob(1), state: 'running', startedAt: instant(5) } as const;
  await leading.commit(term, 60_000, batchOf({ ...at(2), jobUpdates: [changed] }));
  expect(await following.jobRow(0, changed.id)).toEqual(changed);
  expect((await following.job(0, changed.id))?.job).toEqual(changed);
  expect(await following.takenIds(0, [changed.id])).toEqual(new Set([changed.id]));
  expect(await leading.unfolded?.(0)).toBe(1);
  expect(await leading.jobRow(0, changed.id)).toEqual(changed);
  expect(await following.jobRow(0, aJob(2).id)).toBeNull();
});

test('nodes are listed without a fold where somebody knows what they hold', async () => {
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const campaign = await store.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    term: 'term' as TermId,
    ttlMs: 60_000,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  const commit = (commitNo: number, parts: object) =>
    store.commit(
      campaign.term,
      60_000,
      batchOf({ commitNo, lastSeq: 0, nextJobNo: jobNo(1), ...parts }),
    );
  const list = async () => {
    const nodes = await store.nodes(0, (id) => (id === 'w-a' ? 3 : 0));
    return nodes.map(({ id, draining, running }) => [id, draining, running]);
  };
  await commit(1, { nodeUpserts: [aNode('w-c'), aNode('w-b')] });
  expect(await store.nodes(0)).toHaveLength(2);
  await commit(2, { nodeUpserts: [aNode('w-a')], nodeDeletes: [aNode('w-c').id] });
  await commit(3, { nodeUpserts: [aNode('w-b', { draining: true })] });
  expect(await list()).toEqual([
    ['w-a', false, 3],
    ['w-b', true, 0],
  ]);
  expect(await store.unfolded?.(0)).toBe(2);
});
