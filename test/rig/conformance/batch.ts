import { expect, test } from 'vitest';
import { type LimitRow, instant, jobNo, taskNo } from '../../../src/scheduler/core/index.ts';
import { refKey, type Store } from '../../../src/scheduler/store/index.ts';
import { shardContent, TestLeader } from './leader.ts';
import {
  AT,
  aJob,
  aKey,
  aNode,
  aSchedule,
  aSpec,
  aTask,
  jobId,
  running,
  succeeded,
  taskId,
} from './rows.ts';
import type { Bench } from './bench.ts';

const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });

export function batchTests(bench: Bench): void {
  imageTests(bench);
  payloadTests(bench);
  clusterTests(bench);
  sizeTests(bench);
}

function imageTests({ store, newLeader }: Bench): void {
  test('an empty one is fine', async () => {
    const leader = await newLeader();
    await leader.commit({ events: [{}] });
    await leader.commit({});
    expect(await store().loadCluster(leader.shard)).toMatchObject({ lastSeq: 1, nextJobNo: 1 });
  });

  test('commits that are asked for at the same time are made in that order', async () => {
    const leader = await newLeader();
    const submitted = { specInserts: [aSpec(1, 0)], taskInserts: [aTask(1, 0)] };
    const result = { ...ref(1, 0), run: 1, body: '1' };
    const outcomes = await leader.commitAll([
      { jobInserts: [aJob(1)], ...submitted, events: [{}] },
      { taskUpdates: [running(1, 0)], events: [{}] },
      { taskUpdates: [succeeded(1, 0)], results: [result], events: [{}] },
      { jobInserts: [aJob(2)], events: [{}] },
    ]);
    expect(outcomes).toEqual(['made', 'made', 'made', 'made']);
    const results = await store().results(leader.shard, [ref(1, 0)]);
    expect([...results.values()]).toEqual(['1']);
    expect(await store().loadCluster(leader.shard)).toMatchObject({ lastSeq: 4, nextJobNo: 3 });
  });

  test('of commits that are asked for at the same time none is made after one that is refused', async () => {
    const leader = await newLeader();
    const [made, refused, ...others] = await leader.commitAll([
      { jobInserts: [aJob(1)], events: [{}] },
      { jobInserts: [aJob(2, { id: aJob(1).id })], events: [{}] },
      { jobInserts: [aJob(3)], events: [{}] },
      { events: [{}] },
    ]);
    expect([made, refused]).toEqual(['made', 'bad_row']);
    for (const other of others) expect(other).not.toBe('made');
    expect(await store().jobs(leader.shard, { limit: 9 })).toHaveLength(1);
    await leader.commit({ jobInserts: [aJob(2)], events: [{}] });
    expect(await store().loadCluster(leader.shard)).toMatchObject({ lastSeq: 2, nextJobNo: 3 });
  });

  test('counters stay with the shard', async () => {
    const leader = await newLeader();
    await leader.commit({ jobInserts: [aJob(41)], events: [{}, {}] });
    expect(await store().loadCluster(leader.shard)).toMatchObject({ lastSeq: 2, nextJobNo: 42 });
  });

  test('may insert a row and update it: the last image wins', async () => {
    const leader = await newLeader();
    const done = aJob(1, { state: 'succeeded', startedAt: AT, finishedAt: AT });
    await leader.commit({
      jobInserts: [aJob(1, { state: 'queued' })],
      jobUpdates: [done],
      specInserts: [aSpec(1, 0)],
      taskInserts: [aTask(1, 0)],
      taskUpdates: [succeeded(1, 0)],
    });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.job).toEqual(done);
    expect(view?.tasks[0]?.task).toEqual(succeeded(1, 0));
  });

  test('a later image replaces all mutable columns, also with null', async () => {
    const leader = await newLeader();
    const error = { code: 'boom', message: 'it broke' };
    const first = running(1, 0, { stopping: 'cancel', suspended: 'time', notBefore: AT, error });
    const job = aJob(1, { stopping: 'failure', error, startedAt: AT });
    await leader.submit(job, [aSpec(1, 0)], [first]);
    const [job2, task2] = [aJob(1, { run: 2, taskCount: 5 }), aTask(1, 0, { queuedAt: null })];
    await leader.commit({ jobUpdates: [job2], taskUpdates: [task2] });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.job).toEqual(job2);
    expect(view?.tasks[0]?.task).toEqual(task2);
  });

  test('tasks may join a job that is there already', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1), [aSpec(1, 0)], [running(1, 0)]);
    await leader.commit({
      jobUpdates: [aJob(1, { taskCount: 2 })],
      specInserts: [aSpec(1, 1, { parentNo: taskNo(0) })],
      taskInserts: [aTask(1, 1)],
    });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.tasks.map(({ spec }) => spec.id)).toEqual(['task-0', 'task-1']);
  });

  test('the history keeps the previous run when a new one overwrites it', async () => {
    const leader = await newLeader();
    const failed = succeeded(1, 0, { state: 'failed', error: { code: 'boom', message: 'x' } });
    await leader.submit(aJob(1), [aSpec(1, 0)], [failed]);
    await leader.commit({ archived: [ref(1, 0)], taskUpdates: [aTask(1, 0, { run: 2 })] });
    const second = succeeded(1, 0, { run: 2 });
    await leader.commit({ taskUpdates: [second] });
    await leader.commit({ archived: [ref(1, 0)], taskUpdates: [aTask(1, 0, { run: 3 })] });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.history).toEqual([failed, second]);
    expect(view?.tasks[0]?.task.run).toBe(3);
  });
}

function payloadTests({ store, newLeader }: Bench): void {
  test('a result belongs to its run: a new run has none until it writes its own', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1), [aSpec(1, 0)], [running(1, 0)]);
    await leader.commit({
      taskUpdates: [succeeded(1, 0)],
      results: [{ ...ref(1, 0), run: 1, body: '{"a":1}' }],
    });
    const key = refKey(jobNo(1), taskNo(0));
    expect((await store().results(leader.shard, [ref(1, 0)])).get(key)).toBe('{"a":1}');
    await leader.commit({ archived: [ref(1, 0)], taskUpdates: [aTask(1, 0, { run: 2 })] });
    expect((await store().results(leader.shard, [ref(1, 0)])).size).toBe(0);
    const view = await store().task(leader.shard, jobId('job-1'), taskId('task-0'));
    expect(view).toMatchObject({ result: null, task: { run: 2 } });
  });

  test('a result may come with a task that has not ended, and with each run of it', async () => {
    const leader = await newLeader();
    const key = refKey(jobNo(1), taskNo(0));
    const stored = async () => (await store().results(leader.shard, [ref(1, 0)])).get(key);
    await leader.commit({
      jobInserts: [aJob(1, { state: 'queued' })],
      specInserts: [aSpec(1, 0, { options: '{"admission":{"memoryBytes":1}}' })],
      taskInserts: [aTask(1, 0, { state: 'blocked', queuedAt: null })],
      results: [{ ...ref(1, 0), run: 1, body: '"first"' }],
    });
    expect(await stored()).toBe('"first"');
    await leader.commit({ taskUpdates: [succeeded(1, 0)] });
    expect(await stored()).toBe('"first"');
    await leader.commit({
      archived: [ref(1, 0)],
      taskUpdates: [aTask(1, 0, { state: 'blocked', run: 2, queuedAt: null })],
      results: [{ ...ref(1, 0), run: 2, body: '"again"' }],
    });
    expect(await stored()).toBe('"again"');
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.history).toMatchObject([{ run: 1, state: 'succeeded' }]);
  });

  test('the first step of a name stays, in each run', async () => {
    const leader = await newLeader();
    const step = { ...ref(1, 0), run: 1, name: 'fetch', body: '1' };
    await leader.submit(aJob(1), [aSpec(1, 0)], [running(1, 0)]);
    await leader.commit({ steps: [step, { ...step, name: 'other' }] });
    await leader.commit({
      steps: [
        { ...step, body: '2' },
        { ...step, run: 2, body: '3' },
      ],
    });
    const steps = await store().steps(leader.shard, ref(1, 0), 1);
    expect(steps.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      step,
      { ...step, name: 'other' },
    ]);
    expect(await store().steps(leader.shard, ref(1, 0), 2)).toEqual([
      { ...step, run: 2, body: '3' },
    ]);
    expect(await store().steps(leader.shard, ref(1, 1), 1)).toEqual([]);
  });

  test('a key completed in a batch can be copied in it', async () => {
    const leader = await newLeader();
    const tasks = [succeeded(1, 0), succeeded(1, 1), succeeded(1, 2)];
    const key = aKey('k', { state: 'completed', result: '{"paid":true}' });
    const nothing = aKey('nothing', { state: 'completed' });
    await leader.submit(aJob(1), [aSpec(1, 0), aSpec(1, 1), aSpec(1, 2)], tasks);
    await leader.commit({
      keyUpserts: [key, nothing],
      copiedResults: [
        { ...ref(1, 1), run: 1, scope: key.scope },
        { ...ref(1, 2), run: 1, scope: nothing.scope },
      ],
    });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.tasks.map(({ result }) => result)).toEqual([null, '{"paid":true}', null]);
  });

  test('keys are written, rewritten and deleted', async () => {
    const leader = await newLeader();
    const [a, b] = [aKey('a'), aKey('b')];
    const done = { ...a, state: 'completed' as const, result: '1', updatedAt: instant(AT + 1) };
    await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
    await leader.commit({ keyUpserts: [a, b] });
    await leader.commit({ keyUpserts: [done], keyDeletes: [b.scope, 'echo/unknown'] });
    expect(await store().keys(leader.shard, [a.scope, b.scope, 'echo/c'])).toEqual([done]);
  });
}

function clusterTests({ store, newLeader }: Bench): void {
  test('the states of limits are written, rewritten and deleted', async () => {
    const leader = await newLeader();
    const limit = (id: string, state: string): LimitRow => ({ id, state });
    await leader.commit({ limitUpserts: [limit('rate/"a", b', '{}'), limit('rate/c', '{}')] });
    await leader.commit({
      limitUpserts: [limit('rate/c', '{"starts":[]}')],
      limitDeletes: ['rate/"a", b', 'rate/unknown'],
    });
    const { limits } = await store().loadCluster(leader.shard);
    expect(limits).toEqual([limit('rate/c', '{"starts":[]}')]);
  });

  test('nodes and schedules are written, rewritten and deleted', async () => {
    const leader = await newLeader();
    await leader.commit({
      nodeUpserts: [aNode('w-1'), aNode('w-2')],
      scheduleUpserts: [aSchedule('s-1'), aSchedule('s-2')],
    });
    const node = aNode('w-1', { draining: true, executors: [], address: null, status: 'stale' });
    const schedule = aSchedule('s-1', { paused: true, nextAt: null, lastAt: AT });
    await leader.commit({
      nodeUpserts: [node],
      nodeDeletes: [aNode('w-2').id, aNode('unknown').id],
      scheduleUpserts: [schedule],
      scheduleDeletes: [aSchedule('s-2').id, aSchedule('unknown').id],
      inboxDeletes: [17],
    });
    const image = await store().loadCluster(leader.shard);
    expect(image).toMatchObject({ nodes: [node], schedules: [schedule] });
  });

  test.each(['operator', 'flow'] as const)(
    'declarations of kind %s are written, rewritten and removed, by whoever leads',
    async (kind) => {
      const { shard, term } = await newLeader();
      const [a, b] = ['a', 'b'].map((id) => ({ id, declaration: `{"name":"${id}"}` }));
      await store().changeDeclarations(term, kind, { put: [b!, a!], removed: [] });
      expect(await store().declarations(shard, kind)).toEqual([a, b]);
      const other = kind === 'flow' ? 'operator' : 'flow';
      expect(await store().declarations(shard, other)).toEqual([]);
      const changed = { id: 'a', declaration: '{"name":"a","kind":"function"}' };
      await store().changeDeclarations(term, kind, { put: [changed], removed: ['b', 'unknown'] });
      expect(await store().declarations(shard, kind)).toEqual([changed]);
      const stale = { ...term, epoch: term.epoch + 1 };
      await expect(
        store().changeDeclarations(stale, kind, { put: [], removed: ['a'] }),
      ).rejects.toMatchObject({ code: 'deposed' });
      expect(await store().declarations(shard, kind)).toEqual([changed]);
    },
  );

  test('the same numbers and ids in two shards are different rows', async () => {
    const [a, b] = [await newLeader(), await newLeader()];
    for (const leader of [a, b]) {
      const name = `of shard ${leader.shard}`;
      await leader.submit(aJob(1, { name, idempotencyKey: 'k' }), [aSpec(1, 0)], [aTask(1, 0)]);
      await leader.commit({
        nodeUpserts: [aNode('w-1', { version: name })],
        keyUpserts: [aKey('k')],
      });
    }
    await a.commit({ jobUpdates: [aJob(1, { run: 2 })], taskUpdates: [running(1, 0)] });
    const view = await store().job(b.shard, jobId('job-1'));
    expect(view?.job).toMatchObject({ name: `of shard ${b.shard}`, run: 1 });
    expect(view?.tasks[0]?.task.state).toBe('ready');
  });
}

const MANY = 10_000;

function sizeTests({ store, newLeader, withOpened }: Bench): void {
  test('a job of 10,000 tasks goes through its life in whole batches', async () => {
    const leader = await newLeader();
    const numbers = Array.from({ length: MANY }, (_, no) => no);
    const specs = numbers.map((no) =>
      aSpec(1, no, { input: `{"no":${no}}`, dependsOn: no === 0 ? [] : [no - 1, ~0] }),
    );
    const events = numbers.map((no) => ({ ...ref(1, no) }));
    await leader.commit({
      jobInserts: [aJob(1, { taskCount: MANY })],
      specInserts: specs,
      taskInserts: numbers.map((no) => aTask(1, no)),
      events,
    });
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    expect(image?.specs).toEqual(specs.map((spec) => ({ ...spec, input: null })));
    expect(image?.tasks).toEqual(numbers.map((no) => aTask(1, no)));
    const done = numbers.map((no) => succeeded(1, no, { fence: no }));
    await leader.commit({ taskUpdates: numbers.map((no) => running(1, no)) });
    await leader.commit({
      taskUpdates: done,
      results: numbers.map((no) => ({ ...ref(1, no), run: 1, body: `${no}` })),
    });
    const view = await store().job(leader.shard, jobId('job-1'));
    expect(view?.tasks.map(({ task }) => task)).toEqual(done);
    expect(view?.tasks.map(({ result }) => result)).toEqual(numbers.map(String));
    const inputs = await store().inputs(
      leader.shard,
      numbers.map((no) => ref(1, no)),
    );
    expect(inputs.size).toBe(MANY);
    expect(inputs.get(refKey(jobNo(1), taskNo(77)))).toBe('{"no":77}');
  });

  test('what was acknowledged is there after a restart', async () => {
    await withOpened(async ({ store: opened, reopen }) => {
      if (reopen === undefined) return;
      const leader = await TestLeader.of(opened, 0);
      await leader.submit(aJob(1), [aSpec(1, 0, { input: '[1]' })], [running(1, 0)]);
      await leader.commit({ keyUpserts: [aKey('k')], nodeUpserts: [aNode('w-1')], events: [{}] });
      // Whether the leader is still one depends on whether it can be alive.
      const rows = async (store: Store) => ({ ...(await shardContent(store, 0)), leader: null });
      const before = await rows(opened);
      expect(await rows(await reopen())).toEqual(before);
    });
  });
}
