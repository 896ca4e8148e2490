import { expect, test } from 'vitest';
import { AT, aJob, aKey, aSpec, aTask, jobId, running, succeeded, taskId } from './rows.ts';
import { type JobImage, refKey } from '../../../src/scheduler/store/index.ts';
import { jobNo, type Priority, taskNo } from '../../../src/scheduler/core/index.ts';
import type { Bench } from './bench.ts';
import type { TestLeader } from './leader.ts';

const numbers = (images: readonly JobImage[]): number[] => images.map(({ job }) => job.no);
const DONE = { state: 'succeeded', finishedAt: AT } as const;

export function loadingTests(bench: Bench): void {
  imageTests(bench);
  viewTests(bench);
}

/** Numbers 1 to 8: priorities 3 2 1 0 3 2 1 0; the even ones run a task, 4 and 5 have ended. */
async function eightJobs(leader: TestLeader): Promise<void> {
  for (let no = 1; no <= 8; no += 1) {
    const priority = (3 - ((no - 1) % 4)) as Priority;
    const ended = no === 4 || no === 5;
    const task = no % 2 === 0 ? running(no, 0) : aTask(no, 0);
    await leader.submit(
      aJob(no, { priority, taskCount: 2, ...(ended ? DONE : {}) }),
      [aSpec(no, 1, { input: '"one"' }), aSpec(no, 0, { input: '"zero"', options: '{"a":1}' })],
      [aTask(no, 1), ended ? succeeded(no, 0) : task],
    );
  }
}

function imageTests({ store, newLeader }: Bench): void {
  test('gives the busy jobs: live, with a running task, by priority, then number', async () => {
    const leader = await newLeader();
    await eightJobs(leader);
    expect(numbers(await store().loadBusyJobs(leader.shard))).toEqual([8, 2, 6]);
  });

  test('gives all live jobs of a priority in portions', async () => {
    const leader = await newLeader();
    for (let no = 1; no <= 7; no += 1) {
      await leader.submit(aJob(no, { priority: 1, ...(no === 3 ? DONE : {}) }));
    }
    await leader.submit(aJob(8, { priority: 0 }));
    const { shard } = leader;
    const first = await store().loadJobs(shard, 1, jobNo(0), 4);
    expect([numbers(first.jobs), first.next]).toEqual([[1, 2, 4, 5], 6]);
    const second = await store().loadJobs(shard, 1, first.next ?? jobNo(0), 4);
    expect([numbers(second.jobs), second.next]).toEqual([[6, 7], null]);
    const exact = await store().loadJobs(shard, 1, jobNo(0), 6);
    expect([exact.jobs.length, exact.next]).toEqual([6, null]);
    expect(numbers((await store().loadJobs(shard, 0, jobNo(0), 4)).jobs)).toEqual([8]);
    expect(await store().loadJobs(shard, 2, jobNo(0), 4)).toEqual({ jobs: [], next: null });
  });

  test('gives specs and tasks in number order and without inputs', async () => {
    const leader = await newLeader();
    await eightJobs(leader);
    const image = await store().loadJob(leader.shard, jobId('job-2'));
    expect(image).toEqual({
      job: aJob(2, { priority: 2, taskCount: 2 }),
      specs: [aSpec(2, 0, { options: '{"a":1}' }), aSpec(2, 1)],
      tasks: [running(2, 0), aTask(2, 1)],
      keys: [],
      signals: [],
    });
    expect((await store().loadBusyJobs(leader.shard))[1]).toEqual(image);
    expect((await store().loadJobs(leader.shard, 2, jobNo(2), 1)).jobs[0]).toEqual(image);
  });

  test('gives a finished job only by its id', async () => {
    const leader = await newLeader();
    await eightJobs(leader);
    const image = await store().loadJob(leader.shard, jobId('job-4'));
    expect(image?.job).toMatchObject({ no: 4, state: 'succeeded' });
    expect(await store().loadJob(leader.shard, jobId('job-9'))).toBeNull();
    expect(numbers((await store().loadJobs(leader.shard, 0, jobNo(0), 9)).jobs)).toEqual([8]);
  });

  test('gives a job that ended and runs again', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1, DONE), [aSpec(1, 0)], [succeeded(1, 0)]);
    await leader.commit({ jobUpdates: [aJob(1, { run: 2 })], taskUpdates: [running(1, 0)] });
    expect(numbers(await store().loadBusyJobs(leader.shard))).toEqual([1]);
    expect(numbers((await store().loadJobs(leader.shard, 2, jobNo(0), 9)).jobs)).toEqual([1]);
  });

  test('gives the keys that the tasks of a job name, whoever owns them', async () => {
    const leader = await newLeader();
    const keyed = (no: number, key: string) => aSpec(1, no, { idempotencyKey: key });
    const specs = [keyed(0, 'mine'), keyed(1, 'mine'), keyed(2, 'theirs'), keyed(3, 'none')];
    await leader.submit(
      aJob(1),
      specs,
      [0, 1, 2, 3].map((no) => aTask(1, no)),
    );
    const theirs = aKey('theirs', { jobNo: jobNo(77), state: 'completed', result: '1' });
    const foreign = { ...aKey('mine'), scope: 'http/mine' };
    await leader.commit({ keyUpserts: [aKey('mine'), theirs, foreign, aKey('other')] });
    const image = await store().loadJob(leader.shard, jobId('job-1'));
    const scopes = (image?.keys ?? []).map((key) => key.scope);
    expect(scopes.toSorted()).toEqual(['echo/mine', 'echo/theirs']);
    expect(image?.keys).toContainEqual(theirs);
  });

  test('of an unknown shard gives nothing', async () => {
    const shard = 9_999;
    expect(await store().loadCluster(shard)).toMatchObject({ lastSeq: 0, nextJobNo: 1, nodes: [] });
    expect(await store().loadBusyJobs(shard)).toEqual([]);
    expect(await store().loadJobs(shard, 0, jobNo(0), 5)).toEqual({ jobs: [], next: null });
    expect(await store().events(shard, 0, 5)).toEqual([]);
    expect(await store().inbox(shard, 5)).toEqual([]);
  });
}

function viewTests({ store, newLeader }: Bench): void {
  test('gives inputs and results by task, and nothing for those that have none', async () => {
    const leader = await newLeader();
    const specs = [aSpec(1, 0, { input: '{"a":[1]}' }), aSpec(1, 1), aSpec(1, 2, { input: '0' })];
    await leader.submit(aJob(1), specs, [succeeded(1, 0), succeeded(1, 1), succeeded(1, 2)]);
    const ref = (no: number) => ({ jobNo: jobNo(1), taskNo: taskNo(no) });
    await leader.commit({ results: [{ ...ref(2), run: 1, body: '[]' }] });
    const key = (no: number) => refKey(jobNo(1), taskNo(no));
    const refs = [ref(2), ref(1), ref(0), ref(9)];
    expect(await store().inputs(leader.shard, refs)).toEqual(
      new Map([
        [key(0), '{"a":[1]}'],
        [key(2), '0'],
      ]),
    );
    expect(await store().results(leader.shard, refs)).toEqual(new Map([[key(2), '[]']]));
    expect((await store().inputs(leader.shard, [])).size).toBe(0);
    expect((await store().results(leader.shard, [])).size).toBe(0);
    expect(await store().keys(leader.shard, [])).toEqual([]);
  });

  test('gives one task with its input and result', async () => {
    const leader = await newLeader();
    const spec = aSpec(1, 0, { input: '{"x":1}' });
    await leader.submit(aJob(1), [spec], [succeeded(1, 0)]);
    await leader.commit({ results: [{ jobNo: jobNo(1), taskNo: taskNo(0), run: 1, body: '2' }] });
    const view = await store().task(leader.shard, jobId('job-1'), taskId('task-0'));
    expect(view).toEqual({ spec, task: succeeded(1, 0), result: '2' });
    expect(await store().task(leader.shard, jobId('job-1'), taskId('nope'))).toBeNull();
    expect(await store().task(leader.shard, jobId('nope'), taskId('task-0'))).toBeNull();
    expect(await store().job(leader.shard, jobId('nope'))).toBeNull();
  });

  test('gives the hot rows of tasks, and the row of one job', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1), [aSpec(1, 0), aSpec(1, 1)], [running(1, 0), aTask(1, 1)]);
    await leader.commit({ taskUpdates: [succeeded(1, 1)] });
    const refs = [1, 9, 0].map((no) => ({ jobNo: jobNo(1), taskNo: taskNo(no) }));
    expect(await store().taskRows(leader.shard, refs)).toEqual(
      new Map([
        [refKey(jobNo(1), taskNo(0)), running(1, 0)],
        [refKey(jobNo(1), taskNo(1)), succeeded(1, 1)],
      ]),
    );
    expect((await store().taskRows(leader.shard, [])).size).toBe(0);
    expect(await store().jobRow(leader.shard, jobId('job-1'))).toEqual(aJob(1));
    expect(await store().jobRow(leader.shard, jobId('job-2'))).toBeNull();
    const asked = ['job-2', 'job-1', 'job-1', "it's {a}"].map(jobId);
    expect(await store().takenIds(leader.shard, asked)).toEqual(new Set(['job-1']));
    expect((await store().takenIds(leader.shard, [])).size).toBe(0);
  });

  test('gives the ids of all stored jobs in portions, if it has them to give', async () => {
    const leader = await newLeader();
    for (const no of [1, 2, 3, 4, 5]) await leader.submit(aJob(no));
    // A list is answered by the tables: they have the jobs then.
    expect(await store().jobs(leader.shard, { limit: 10 })).toHaveLength(5);
    const found = new Set<string>();
    for (let after = ''; ;) {
      const portion = await store().jobIds?.(after, 2);
      if (portion === undefined) return;
      // Of all shards, and other tests have jobs of the same ids in theirs.
      for (const id of portion) found.add(id);
      if (portion.length < 2) break;
      after = portion.at(-1) ?? '';
    }
    expect([...found]).toEqual(
      expect.arrayContaining(['job-1', 'job-2', 'job-3', 'job-4', 'job-5']),
    );
  });

  test('lists jobs newest first, by state and name, in pages', async () => {
    const leader = await newLeader();
    for (let no = 1; no <= 6; no += 1) {
      await leader.submit(
        aJob(no, { name: no % 2 === 0 ? 'even' : 'odd', ...(no > 4 ? DONE : {}) }),
      );
    }
    const list = async (filter: object): Promise<number[]> => {
      const jobs = await store().jobs(leader.shard, { limit: 100, ...filter });
      return jobs.map((job) => job.no);
    };
    expect(await list({})).toEqual([6, 5, 4, 3, 2, 1]);
    expect(await list({ limit: 2 })).toEqual([6, 5]);
    expect(await list({ limit: 2, before: jobNo(5) })).toEqual([4, 3]);
    expect(await list({ state: 'running' })).toEqual([4, 3, 2, 1]);
    expect(await list({ name: 'even' })).toEqual([6, 4, 2]);
    expect(await list({ name: 'odd', state: 'succeeded', before: jobNo(9) })).toEqual([5]);
    expect(await list({ name: 'none' })).toEqual([]);
  });

  test('lists jobs by their labels, newest first, in pages, whatever is in a label', async () => {
    const leader = await newLeader();
    const odd = 'note:"a, {b}" \\ ü';
    await leader.submit(aJob(1, { labels: ['team:a', 'tier:gold'] }));
    await leader.submit(aJob(2, { labels: ['team:a'], ...DONE }));
    await leader.submit(aJob(3, { labels: [odd, 'team:a', 'tier:gold'], name: 'other' }));
    await leader.submit(aJob(4, { labels: ['team:'] }));
    await leader.submit(aJob(5));
    const list = async (filter: object): Promise<number[]> => {
      const jobs = await store().jobs(leader.shard, { limit: 100, ...filter });
      return jobs.map((job) => job.no);
    };
    expect(await list({ labels: ['team:a'] })).toEqual([3, 2, 1]);
    expect(await list({ labels: ['team:a'], limit: 1 })).toEqual([3]);
    expect(await list({ labels: ['team:a'], limit: 1, before: jobNo(3) })).toEqual([2]);
    expect(await list({ labels: ['tier:gold', 'team:a'] })).toEqual([3, 1]);
    expect(await list({ labels: ['team:a'], state: 'running' })).toEqual([3, 1]);
    expect(await list({ labels: ['team:a'], name: 'other' })).toEqual([3]);
    expect(await list({ labels: [odd] })).toEqual([3]);
    expect(await list({ labels: ['team:'] })).toEqual([4]);
    expect(await list({ labels: ['team:A'] })).toEqual([]);
  });

  test('an update of a job changes its options, and not the priority that it came with', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1, { priority: 2 }));
    await leader.commit({ jobUpdates: [aJob(1, { priority: 0, options: '{"priority":0}' })] });
    const [listed] = await store().jobs(leader.shard, { limit: 1 });
    expect(listed).toMatchObject({ priority: 2, options: '{"priority":0}' });
    expect(await store().jobRow(leader.shard, listed!.id)).toEqual(listed);
  });

  test('finds a job by its idempotency key', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1, { idempotencyKey: 'key' }));
    expect(await store().jobIdForKey(leader.shard, 'key')).toBe('job-1');
    expect(await store().jobIdForKey(leader.shard, 'other')).toBeNull();
  });
}
