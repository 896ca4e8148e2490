import { expect, test } from 'vitest';
import { type Instant, instant, jobNo, taskNo } from '../../../src/scheduler/core/index.ts';
import { type Dumped, refKey, type Retention } from '../../../src/scheduler/store/index.ts';
import type { Bench } from './bench.ts';
import { TestLeader } from './leader.ts';
import { aJob, aKey, aSignal, aSpec, aTask, jobId, running, succeeded } from './rows.ts';

const HOUR = 3_600_000;
const KEEP: Retention = { jobsMs: HOUR, eventsMs: HOUR, keysMs: HOUR, jobsMax: 100 };
const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });
const ended = (at: Instant) => ({ state: 'succeeded', finishedAt: at }) as const;

export function retentionTests(bench: Bench): void {
  jobTests(bench);
  logTests(bench);
  keyTests(bench);
}

async function tablesOf(rows: AsyncIterable<Dumped>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for await (const { table } of rows) counts[table] = (counts[table] ?? 0) + 1;
  return counts;
}

function jobTests({ store, newLeader, withOpened }: Bench): void {
  test('removes finished jobs that are old enough, and no others', async () => {
    const leader = await newLeader();
    const [old, young] = [instant(leader.now - 2 * HOUR), instant(leader.now - HOUR / 2)];
    await leader.submit(aJob(1, ended(old)));
    await leader.submit(aJob(2, ended(young)));
    await leader.submit(aJob(3, { createdAt: old, startedAt: old }));
    await leader.submit(aJob(4, { ...ended(old), idempotencyKey: 'again' }));
    const pruned = await store().prune(leader.term, KEEP);
    expect(pruned).toEqual({ jobs: 2, events: 0, keys: 0, more: false });
    const left = await store().jobs(leader.shard, { limit: 9 });
    expect(left.map((job) => job.no)).toEqual([3, 2]);
    expect(await store().jobIdForKey(leader.shard, 'again')).toBeNull();
    await leader.submit(aJob(5, { idempotencyKey: 'again', id: jobId('job-4') }));
  });

  test('removes one ended job with all that hangs on it, however young it is, and no live one', async () => {
    const leader = await newLeader();
    const young = ended(instant(leader.now));
    const parts = { ...young, idempotencyKey: 'again', labels: ['team:a'] };
    await leader.submit(aJob(1, parts), [aSpec(1, 0)], [succeeded(1, 0)]);
    await leader.commit({ results: [{ ...ref(1, 0), run: 1, body: '7' }] });
    await leader.submit(aJob(2, young));
    await leader.submit(aJob(3), [aSpec(3, 0)], [aTask(3, 0)]);
    const remove = (no: number) => store().prune(leader.term, { only: jobNo(no) });
    expect(await remove(1)).toMatchObject({ jobs: 1, events: 0, keys: 0 });
    expect(await remove(1)).toMatchObject({ jobs: 0 });
    expect(await remove(3)).toMatchObject({ jobs: 0 });
    expect(await remove(9)).toMatchObject({ jobs: 0 });
    const left = await store().jobs(leader.shard, { limit: 9 });
    expect(left.map((job) => job.no)).toEqual([3, 2]);
    expect(await store().jobRow(leader.shard, jobId('job-1'))).toBeNull();
    expect(await store().jobIdForKey(leader.shard, 'again')).toBeNull();
    expect(await store().jobs(leader.shard, { limit: 9, labels: ['team:a'] })).toEqual([]);
    expect(await store().results(leader.shard, [ref(1, 0)])).toEqual(new Map());
    await leader.submit(aJob(4, { idempotencyKey: 'again', id: jobId('job-1') }));
  });

  test('removes the labels with the job: its id can be used again', async () => {
    const leader = await newLeader();
    const labels = ['team:a'];
    await leader.submit(aJob(1, { ...ended(instant(leader.now - 2 * HOUR)), labels }));
    await leader.submit(aJob(2, { labels }));
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ jobs: 1 });
    const left = await store().jobs(leader.shard, { labels, limit: 9 });
    expect(left.map((job) => job.no)).toEqual([2]);
  });

  test('removes finished queries earlier than other jobs', async () => {
    const leader = await newLeader();
    const young = ended(instant(leader.now - HOUR / 2));
    const output = '{"columns":{"$from":"plan","path":"/columns"},"parts":[{"$from":"s0.0"}]}';
    await leader.submit(aJob(1, { ...young, output }));
    await leader.submit(aJob(2, { ...young, output: '{"columns":1}' }));
    await leader.submit(aJob(3, { ...young, output: null }));
    await leader.submit(aJob(4, { ...ended(instant(leader.now - HOUR / 8)), output }));
    await leader.submit(aJob(5, { output }));
    await leader.submit(aJob(6, { ...ended(instant(leader.now - 2 * HOUR)) }));
    const earlier = { ...KEEP, queriesMs: HOUR / 4 };
    expect(await store().prune(leader.term, earlier)).toMatchObject({ jobs: 2, more: false });
    const left = await store().jobs(leader.shard, { limit: 9 });
    expect(left.map((job) => job.no)).toEqual([5, 4, 3, 2]);
  });

  test('removes jobs that are not kept earlier than others, by how they ended', async () => {
    const leader = await newLeader();
    const young = instant(leader.now - HOUR / 2);
    const [failed, none] = ['{"keep":"failed"}', '{"fairnessKey":"a","keep":"none"}'];
    const ends = { succeeded: ended(young), failed: { ...ended(young), state: 'failed' } } as const;
    await leader.submit(aJob(1, { ...ends.succeeded, options: failed }));
    await leader.submit(aJob(2, { ...ends.failed, options: failed }));
    await leader.submit(aJob(3, { ...ends.succeeded, options: none }));
    await leader.submit(aJob(4, { ...ends.failed, options: none, idempotencyKey: 'again' }));
    await leader.submit(aJob(5, { ...ends.succeeded, state: 'cancelled', options: none }));
    await leader.submit(aJob(6, { ...ends.succeeded, state: 'cancelled', options: failed }));
    await leader.submit(aJob(7, { ...ended(instant(leader.now - HOUR / 8)), options: none }));
    await leader.submit(aJob(8, { options: none }));
    await leader.submit(aJob(9, { ...ends.succeeded, options: null }));
    // A value may look like the field, and is none.
    const odd = JSON.stringify({ fairnessKey: '"keep":"none"', keepsake: 'keep' });
    await leader.submit(aJob(10, { ...ends.succeeded, options: odd }));
    await leader.submit(aJob(11, { ...ended(instant(leader.now - 2 * HOUR)), options: none }));
    const earlier = { ...KEEP, unkeptMs: HOUR / 4 };
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ jobs: 1 });
    expect(await store().prune(leader.term, earlier)).toMatchObject({ jobs: 4, more: false });
    const left = await store().jobs(leader.shard, { limit: 99 });
    expect(left.map((job) => job.no)).toEqual([10, 9, 8, 7, 6, 2]);
    expect(await store().jobIdForKey(leader.shard, 'again')).toBeNull();
  });

  test('removes jobs that are not kept in portions, and never one that a live job has called', async () => {
    const leader = await newLeader();
    const parts = { ...ended(instant(leader.now - HOUR / 2)), options: '{"keep":"none"}' };
    const caller = { id: jobId('portions') };
    await leader.submit(aJob(1, caller));
    await leader.submit(aJob(2, { ...parts, id: jobId('portions.called') }));
    for (let no = 3; no <= 5; no += 1) await leader.submit(aJob(no, parts));
    const two = { ...KEEP, unkeptMs: HOUR / 4, jobsMax: 2 };
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 2, more: true });
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 1, more: false });
    await leader.commit({ jobUpdates: [aJob(1, { ...caller, ...ended(leader.now) })] });
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 1, more: false });
  });

  test('keeps what a live job has called, and lets it go when that has ended', async () => {
    const leader = await newLeader();
    const old = ended(instant(leader.now - 2 * HOUR));
    const ids = [
      'top.1',
      'top',
      'top.1.0123456789ab',
      'top.1.0123456789ab.c',
      'top.10',
      'top.1x.y',
    ];
    for (const [at, id] of ids.entries()) {
      await leader.submit(aJob(at + 1, { id: jobId(id), ...(at === 0 ? {} : old) }));
    }
    const left = async (): Promise<string[]> =>
      (await store().jobs(leader.shard, { limit: 9 })).map((job) => job.id).toSorted();
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ jobs: 4, more: false });
    expect(await left()).toEqual(['top.1', 'top.1.0123456789ab']);
    await leader.commit({ jobUpdates: [aJob(1, { id: jobId('top.1'), ...ended(leader.now) })] });
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ jobs: 1 });
    expect(await left()).toEqual(['top.1']);
  });

  test('is not held up by jobs that it has to keep', async () => {
    const leader = await newLeader();
    const old = ended(instant(leader.now - 2 * HOUR));
    await leader.submit(aJob(1));
    for (let no = 2; no <= 4; no += 1) {
      await leader.submit(aJob(no, { id: jobId(`job-1.${no}`), ...old }));
    }
    await leader.submit(aJob(5, old));
    const one = { ...KEEP, jobsMax: 1 };
    expect(await store().prune(leader.term, one)).toMatchObject({ jobs: 1, more: false });
    expect(await store().job(leader.shard, jobId('job-5'))).toBeNull();
  });

  test('removes a job with all that hangs on it', async () => {
    await withOpened(async ({ store: opened }) => {
      const leader = await TestLeader.of(opened, 0);
      const at = instant(leader.now - 2 * HOUR);
      await leader.submit(aJob(1), [aSpec(1, 0, { input: '1' })], [succeeded(1, 0)]);
      await leader.commit({
        archived: [ref(1, 0)],
        taskUpdates: [succeeded(1, 0, { run: 2 })],
        jobUpdates: [aJob(1, ended(at))],
        results: [1, 2].map((run) => ({ ...ref(1, 0), run, body: '"r"' })),
        steps: [{ ...ref(1, 0), run: 1, name: 's', body: '1' }],
        signalInserts: [aSignal(1, 0), aSignal(1, 1, { taken: true })],
        events: [{ ...ref(1, 0), at: leader.now }],
      });
      await opened.prune(leader.term, KEEP);
      expect(await tablesOf(opened.dump())).toEqual({ counters: 1, event: 1 });
      // The log outlives the job; the names it resolved to are gone with it.
      const [event] = await opened.events(0, 0, 9);
      expect(event).toMatchObject({ jobNo: 1, jobId: null, taskId: null });
    });
  });

  test('takes no more jobs than the limit, and says that there are more', async () => {
    const leader = await newLeader();
    const at = instant(leader.now - 2 * HOUR);
    for (let no = 1; no <= 5; no += 1) await leader.submit(aJob(no, ended(at)));
    const two = { ...KEEP, jobsMax: 2 };
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 2, more: true });
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 2, more: true });
    expect(await store().prune(leader.term, two)).toMatchObject({ jobs: 1, more: false });
    expect(await store().jobs(leader.shard, { limit: 9 })).toEqual([]);
  });

  test('of one shard leaves the others alone', async () => {
    const [one, two] = [await newLeader(), await newLeader()];
    const at = instant(one.now - 2 * HOUR);
    for (const leader of [one, two]) {
      await leader.submit(aJob(1, ended(at)), [aSpec(1, 0, { input: '7' })], [succeeded(1, 0)]);
      await leader.commit({ keyUpserts: [aKey('k', { state: 'completed', updatedAt: at })] });
    }
    await store().prune(one.term, KEEP);
    const view = await store().job(two.shard, jobId('job-1'));
    expect(view?.tasks).toHaveLength(1);
    const inputs = await store().inputs(two.shard, [ref(1, 0)]);
    expect(inputs.get(refKey(jobNo(1), taskNo(0)))).toBe('7');
    expect(await store().keys(two.shard, [aKey('k').scope])).toHaveLength(1);
  });
}

function logTests({ store, newLeader }: Bench): void {
  test('removes old events from the front; reading from before them is "not_found"', async () => {
    const leader = await newLeader();
    const [old, young] = [instant(leader.now - 2 * HOUR), leader.now];
    await leader.commit({ events: [old, old, old, young, young].map((at) => ({ at })) });
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ events: 3 });
    const kept = await store().events(leader.shard, 3, 9);
    expect(kept.map((event) => event.seq)).toEqual([4, 5]);
    const past = { code: 'not_found' };
    await expect(store().events(leader.shard, 2, 9)).rejects.toMatchObject(past);
    await expect(store().events(leader.shard, 0, 9, jobId('j'))).rejects.toMatchObject(past);
  });

  test('may remove every event: numbers go on where they were', async () => {
    const leader = await newLeader();
    const at = instant(leader.now - 2 * HOUR);
    await leader.commit({ events: [{ at }, { at }] });
    await store().prune(leader.term, KEEP);
    await expect(store().events(leader.shard, 1, 9)).rejects.toMatchObject({ code: 'not_found' });
    expect(await store().events(leader.shard, 2, 9)).toEqual([]);
    await leader.commit({ events: [{}] });
    const events = await store().events(leader.shard, 2, 9);
    expect(events.map((event) => event.seq)).toEqual([3]);
  });
}

function keyTests({ store, newLeader }: Bench): void {
  test('removes old completed keys, but never a pending one', async () => {
    const leader = await newLeader();
    const [old, young] = [instant(leader.now - 2 * HOUR), leader.now];
    const completed = { state: 'completed', result: '1' } as const;
    await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
    await leader.commit({
      keyUpserts: [
        aKey('old', { ...completed, updatedAt: old }),
        aKey('young', { ...completed, updatedAt: young }),
        aKey('pending', { updatedAt: old }),
      ],
    });
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ keys: 1 });
    const scopes = ['old', 'young', 'pending'].map((key) => aKey(key).scope);
    const left = await store().keys(leader.shard, scopes);
    expect(left.map((key) => key.scope).toSorted()).toEqual(['echo/pending', 'echo/young']);
  });

  test('keeps a key that a live job still names, and lets it go when the job has ended', async () => {
    const leader = await newLeader();
    const spec = aSpec(1, 0, { idempotencyKey: 'k' });
    await leader.submit(aJob(1), [spec], [running(1, 0)]);
    const updatedAt = instant(leader.now - 2 * HOUR);
    const key = aKey('k', { state: 'completed', updatedAt, jobNo: jobNo(99) });
    await leader.commit({ keyUpserts: [key] });
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ keys: 0 });
    expect(await store().keys(leader.shard, [key.scope])).toEqual([key]);
    await leader.commit({ jobUpdates: [aJob(1, ended(leader.now))] });
    expect(await store().prune(leader.term, KEEP)).toMatchObject({ keys: 1, jobs: 0 });
  });
}
