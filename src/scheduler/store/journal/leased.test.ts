/** What is reported of a task that a worker holds is proven by its lease, wherever its row is. */
import { expect, test } from 'vitest';
import { aJob, aSpec, aTask, running, succeeded } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { type Batch, batchOf, instant, jobNo, taskNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 60_000;
const REF = { jobNo: jobNo(1), taskNo: taskNo(0), run: 1 };

/** A leader whose tables have taken in everything after each commit. */
async function folded() {
  const tables = openMemoryStore({ now: () => instant(0) });
  const asked: Batch[] = [];
  const append = tables.append.bind(tables);
  tables.append = (term, ttlMs, record, unproven) => {
    if (unproven !== null) asked.push(unproven);
    return append(term, ttlMs, record, unproven);
  };
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = {
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    ...{ term: 'term' as TermId, ttlMs: TTL_MS },
  };
  const campaign = await store.campaign(candidacy);
  if (!campaign.won) throw new Error('nobody else is there');
  let commitNo = 0;
  return {
    asked,
    commit: async (parts: Partial<Batch>) => {
      commitNo += 1;
      const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(2) };
      await store
        .commit(campaign.term, TTL_MS, batchOf({ ...parts, ...counters }))
        .catch((error: unknown) => {
          commitNo -= 1;
          throw error;
        });
      // Only the tables can answer this.
      await store.nodes(0);
    },
  };
}

const submit = { jobInserts: [aJob(1)], specInserts: [aSpec(1, 0)], taskInserts: [aTask(1, 0)] };
const step = (name: string): Partial<Batch> => ({ steps: [{ ...REF, name, body: '1' }] });
const end = { taskUpdates: [succeeded(1, 0)], results: [{ ...REF, body: '2' }] };

test('steps of a leased task are committed without a look at the tables', async () => {
  const { asked, commit } = await folded();
  await commit(submit);
  await commit({ taskUpdates: [running(1, 0)] });
  asked.length = 0;
  await commit(step('a'));
  await commit({ ...step('b'), taskUpdates: [running(1, 0)], jobUpdates: [aJob(1)] });
  expect(asked).toEqual([]);
  // That there is no result only the tables can say.
  await commit(end);
  expect(asked.map(({ results, taskUpdates }) => [results.length, taskUpdates.length])).toEqual([
    [1, 0],
  ]);
});

test('a task that has ended is looked up again, and a second result is refused', async () => {
  const { asked, commit } = await folded();
  await commit(submit);
  await commit({ taskUpdates: [running(1, 0)] });
  await commit(end);
  asked.length = 0;
  await commit(step('late'));
  expect(asked.flatMap(({ steps }) => steps)).toHaveLength(1);
  await expect(commit(end)).rejects.toMatchObject({ code: 'bad_row' });
});
