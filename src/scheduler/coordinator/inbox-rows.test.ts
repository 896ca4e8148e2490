/** What was written into the inbox, by hand or in a transaction of its sender, becomes jobs, whatever it is. */
import { expect, test } from 'vitest';
import { jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { jobNo } from '../core/index.ts';
import type { Dumped } from '../store/index.ts';

const TASK = { id: 'a', executor: 'echo' };
const clock = new VirtualClock();

async function* rows(): AsyncIterable<Dumped> {
  const counters = { shard: 0, lastSeq: 0, nextJobNo: jobNo(1) };
  yield { table: 'counters', row: counters };
  const good = JSON.stringify({ name: 'good', tasks: [TASK] });
  yield { table: 'inbox', row: { no: 1, jobId: jobId('good'), document: good } };
  yield { table: 'inbox', row: { no: 2, jobId: jobId('bad'), document: '{"tasks":[]}' } };
}

test('documents become jobs, bad ones become failed jobs, and the rows are gone', async () => {
  const filled = memoryStore(clock);
  await filled.fill(rows());
  const { leader } = await lead(filled, clock);
  expect(await leader.jobs.drainInbox()).toBe(2);
  expect(await filled.inbox(0, 10)).toEqual([]);
  expect((await filled.jobRow(0, jobId('good')))?.state).toBe('queued');
  expect(await filled.jobRow(0, jobId('bad'))).toMatchObject({
    state: 'failed',
    error: { code: 'bad_input' },
  });
  expect(await leader.jobs.drainInbox()).toBe(0);
});

test('rows that were written by hand, with any id, are gone and cause no reload', async () => {
  const ids = ['', 'a/b c', 'x'.repeat(5_000), 's@1794969302690.1', 'same', 'same', 'same'];
  async function* handmade(): AsyncIterable<Dumped> {
    yield { table: 'counters', row: { shard: 0, lastSeq: 0, nextJobNo: jobNo(1) } };
    const documents = [JSON.stringify({ tasks: [TASK] }), '{'];
    for (const [at, id] of [...ids, ...ids].entries()) {
      const document = documents[at < ids.length ? 0 : 1] as string;
      yield { table: 'inbox', row: { no: at + 1, jobId: jobId(id), document } };
    }
  }
  const filled = memoryStore(clock);
  await filled.fill(handmade());
  const { leader } = await lead(filled, clock);
  expect(await leader.jobs.drainInbox()).toBe(14);
  expect(await filled.inbox(0, 20)).toEqual([]);
  const jobs = await filled.jobs(0, { limit: 20 });
  const failed = jobs.filter(({ state }) => state === 'failed');
  const named = failed.map(({ id }) => id).filter((id) => id.startsWith('inbox-'));
  expect(named).toHaveLength(8);
  expect(jobs.map(({ id }) => id).toSorted()).toEqual([...named.toSorted(), 'same']);
  expect(leader.figures().reloads).toBe(0);
});

async function* repeated(count: number): AsyncIterable<Dumped> {
  yield { table: 'counters', row: { shard: 0, lastSeq: 0, nextJobNo: jobNo(1) } };
  const document = JSON.stringify({ name: 'x', idempotencyKey: 'k', tasks: [TASK] });
  for (let no = 1; no <= count; no += 1) {
    yield { table: 'inbox', row: { no, jobId: jobId(`j${no}`), document } };
  }
  yield { table: 'inbox', row: { no: count + 1, jobId: jobId('broken'), document: '{' } };
}

test('rows that name the same key are one job and all gone, a portion of them and more', async () => {
  const filled = memoryStore(clock);
  await filled.fill(repeated(150));
  const { leader } = await lead(filled, clock);
  const [first, second] = await Promise.all([leader.jobs.drainInbox(), leader.jobs.drainInbox()]);
  expect([first, second]).toEqual([151, 151]);
  expect(await filled.inbox(0, 10)).toEqual([]);
  const jobs = await filled.jobs(0, { limit: 10 });
  expect(jobs.map(({ state }) => state).toSorted()).toEqual(['failed', 'queued']);
  expect(jobs.find(({ state }) => state === 'failed')?.error?.code).toBe('bad_input');
});
