import { expect, test } from 'vitest';
import {
  jobNo,
  type StepRow,
  taskNo,
  type TakenSignalRow,
} from '../../../src/scheduler/core/index.ts';
import { refKey, type Store } from '../../../src/scheduler/store/index.ts';
import type { Bench } from './bench.ts';
import { shardContent, TestLeader } from './leader.ts';
import { AT, aJob, aSignal, aSpec, aTask, jobId, running } from './rows.ts';

const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });
const unread = (job: number, no: number, parts = {}) => aSignal(job, no, { body: '', ...parts });

function take(signalNo: number, step: string, parts: Partial<TakenSignalRow> = {}): TakenSignalRow {
  return { ...ref(1, 0), signalNo, run: 1, step, ...parts };
}

async function stepsOf(store: Store, shard: number): Promise<Readonly<Record<string, string>>> {
  const steps: readonly StepRow[] = await store.steps(shard, ref(1, 0), 1);
  return Object.fromEntries(steps.map(({ name, body }) => [name, body]));
}

/** A job whose only task runs. */
async function oneJob(leader: TestLeader): Promise<void> {
  await leader.submit(aJob(1), [aSpec(1, 0)], [running(1, 0)]);
}

export function signalTests(bench: Bench): void {
  takingTests(bench);
  keepingTests(bench);
}

function takingTests({ store, newLeader }: Bench): void {
  test('are there for whoever loads the job, in the order in which they came', async () => {
    const leader = await newLeader();
    await oneJob(leader);
    await leader.commit({ signalInserts: [aSignal(1, 1), aSignal(1, 0, { name: 'paid' })] });
    const signals = [unread(1, 0, { name: 'paid' }), unread(1, 1)];
    const { shard } = leader;
    expect((await store().loadJob(shard, jobId('job-1')))?.signals).toEqual(signals);
    expect((await store().loadBusyJobs(shard))[0]?.signals).toEqual(signals);
    const portion = await store().loadJobs(shard, 2, jobNo(0), 9);
    expect(portion.jobs[0]?.signals).toEqual(signals);
  });

  test('that are taken become steps, and stay', async () => {
    const leader = await newLeader();
    await oneJob(leader);
    await leader.commit({ signalInserts: [aSignal(1, 0), aSignal(1, 1)] });
    await leader.commit({ takenSignals: [take(1, '$signal/approved')] });
    expect(await stepsOf(store(), leader.shard)).toEqual({ '$signal/approved': '{"value":1}' });
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    expect(image?.signals).toEqual([unread(1, 0), unread(1, 1, { taken: true })]);
  });

  test('can be taken in the batch that brings them, also together with their job', async () => {
    const leader = await newLeader();
    await leader.commit({
      jobInserts: [aJob(1)],
      specInserts: [aSpec(1, 0)],
      taskInserts: [aTask(1, 0)],
      signalInserts: [aSignal(1, 0), aSignal(1, 1)],
      takenSignals: [take(0, 'a')],
    });
    await leader.commit({ signalInserts: [aSignal(1, 2)], takenSignals: [take(2, 'b')] });
    expect(await stepsOf(store(), leader.shard)).toEqual({ a: '{"value":0}', b: '{"value":2}' });
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    expect(image?.signals.map(({ taken }) => taken)).toEqual([true, false, true]);
  });

  test('leave a step that is there already as it is', async () => {
    const leader = await newLeader();
    const step = { ...ref(1, 0), run: 1, body: '"first"' };
    await oneJob(leader);
    await leader.commit({ steps: [{ ...step, name: 'old' }] });
    await leader.commit({
      steps: [{ ...step, name: 'new' }],
      signalInserts: [aSignal(1, 0), aSignal(1, 1), aSignal(1, 2)],
      takenSignals: [take(0, 'old'), take(1, 'new'), take(2, 'old', { run: 2 })],
    });
    expect(await stepsOf(store(), leader.shard)).toEqual({ old: '"first"', new: '"first"' });
    const second = await store().steps(leader.shard, ref(1, 0), 2);
    expect(second.map(({ body }) => body)).toEqual(['{"value":2}']);
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    expect(image?.signals.map(({ taken }) => taken)).toEqual([true, true, true]);
  });

  test('may come and be taken by the hundred', async () => {
    const leader = await newLeader();
    await oneJob(leader);
    const numbers = Array.from({ length: 500 }, (_, no) => no);
    await leader.commit({ signalInserts: numbers.map((no) => aSignal(1, no)) });
    await leader.commit({ takenSignals: numbers.slice(100).map((no) => take(no, `${no}`)) });
    const steps = await stepsOf(store(), leader.shard);
    expect(Object.keys(steps)).toHaveLength(400);
    expect(steps['321']).toBe('{"value":321}');
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    expect(image?.signals).toEqual(numbers.map((no) => unread(1, no, { taken: no >= 100 })));
    const again = numbers.map((no) => aSignal(1, no + 500, { id: `signal-${no}` }));
    await expect(leader.commit({ signalInserts: again })).rejects.toMatchObject({
      code: 'bad_row',
    });
  });
}

function keepingTests({ store, newLeader, withOpened }: Bench): void {
  test('of the same number and id in two jobs and two shards are different ones', async () => {
    const [a, b] = [await newLeader(), await newLeader()];
    for (const leader of [a, b]) {
      await oneJob(leader);
      await leader.submit(aJob(2), [aSpec(2, 0)], [aTask(2, 0)]);
      await leader.commit({ signalInserts: [aSignal(1, 0), aSignal(2, 0)] });
    }
    await a.commit({ takenSignals: [take(0, 's', ref(2, 0))] });
    const taken = async (shard: number, job: string) =>
      (await store().loadJob(shard, jobId(job)))?.signals.map((signal) => signal.taken);
    expect(await taken(a.shard, 'job-2')).toEqual([true]);
    expect(await taken(a.shard, 'job-1')).toEqual([false]);
    expect(await taken(b.shard, 'job-2')).toEqual([false]);
  });

  test('and what a task waits for are there after a restart', async () => {
    await withOpened(async ({ store: opened, reopen }) => {
      if (reopen === undefined) return;
      const leader = await TestLeader.of(opened, 0);
      const waits = '{"signals":[{"step":"$signal/paid","name":"paid"}],"jobs":[]}';
      const waiting = aTask(1, 0, { state: 'blocked', suspended: 'signal', waits, queuedAt: null });
      await leader.submit(aJob(1, { output: '{"$from":"task-0"}' }), [aSpec(1, 0)], [waiting]);
      await leader.commit({ signalInserts: [aSignal(1, 0), aSignal(1, 1)] });
      await leader.commit({ takenSignals: [take(0, 's')] });
      const rows = async (of: Store) => ({ ...(await shardContent(of, 0)), leader: null });
      const before = await rows(opened);
      const again = await reopen();
      expect(await rows(again)).toEqual(before);
      const image = await again.loadJob(0, jobId('job-1'));
      expect(image?.tasks).toEqual([waiting]);
      expect(image?.job.output).toBe('{"$from":"task-0"}');
      expect(image?.signals).toEqual([unread(1, 0, { taken: true }), unread(1, 1)]);
      expect(await stepsOf(again, 0)).toEqual({ s: '{"value":0}' });
    });
  });

  test('and what a task waits for change with each image, but never the output', async () => {
    const leader = await newLeader();
    const job = aJob(1, { output: '[1]' });
    const waiting = aTask(1, 0, { state: 'delayed', suspended: 'job', waits: '{}', notBefore: AT });
    await leader.submit(job, [aSpec(1, 0)], [waiting]);
    const row = async () => {
      const found = await store().taskRows(leader.shard, [ref(1, 0)]);
      return found.get(refKey(jobNo(1), taskNo(0)));
    };
    expect(await row()).toEqual(waiting);
    await leader.commit({ taskUpdates: [running(1, 0)], jobUpdates: [{ ...job, output: null }] });
    expect(await row()).toEqual(running(1, 0));
    expect((await store().jobRow(leader.shard, jobId('job-1')))?.output).toBe('[1]');
  });
}
