import { expect, test } from 'vitest';
import { jobNo, LOG_KINDS, taskNo } from '../../../src/scheduler/core/index.ts';
import type { Bench } from './bench.ts';
import { aJob, aSpec, aTask, jobId } from './rows.ts';

export function logTests({ store, newLeader }: Bench): void {
  test('has no gaps, over many batches, and is read in order from any place', async () => {
    const leader = await newLeader();
    for (let size = 0; size < 12; size += 1) {
      await leader.commit({ events: Array.from({ length: size }, () => ({})) });
    }
    const total = 66;
    const all = await store().events(leader.shard, 0, 1_000);
    expect(all.map((event) => event.seq)).toEqual(Array.from({ length: total }, (_, at) => at + 1));
    const some = await store().events(leader.shard, 40, 5);
    expect(some.map((event) => event.seq)).toEqual([41, 42, 43, 44, 45]);
    expect(await store().events(leader.shard, total, 5)).toEqual([]);
    expect(await store().events(leader.shard, total + 100, 5)).toEqual([]);
  });

  test('knows every kind', async () => {
    const leader = await newLeader();
    await leader.commit({ events: LOG_KINDS.map((kind) => ({ kind })) });
    const events = await store().events(leader.shard, 0, 100);
    expect(events.map((event) => event.kind)).toEqual(LOG_KINDS);
  });

  test('is read by job, with the names of job and task', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1), [aSpec(1, 0), aSpec(1, 1)], [aTask(1, 0), aTask(1, 1)]);
    await leader.submit(aJob(2), [aSpec(2, 0)], [aTask(2, 0)]);
    const of = (job: number, task: number | null) => ({
      jobNo: jobNo(job),
      taskNo: task === null ? null : taskNo(task),
    });
    await leader.commit({ events: [of(1, null), of(2, 0), of(1, 0), {}, of(1, 1), of(2, null)] });
    const read = async (after: number, limit: number, id?: string) => {
      const events = await store().events(
        leader.shard,
        after,
        limit,
        ...(id === undefined ? [] : [jobId(id)]),
      );
      return events.map(({ seq, jobId, taskId }) => [seq, jobId, taskId]);
    };
    expect(await read(0, 10, 'job-1')).toEqual([
      [1, 'job-1', null],
      [3, 'job-1', 'task-0'],
      [5, 'job-1', 'task-1'],
    ]);
    expect(await read(1, 1, 'job-1')).toEqual([[3, 'job-1', 'task-0']]);
    expect(await read(0, 10, 'job-9')).toEqual([]);
    expect(await read(1, 3)).toEqual([
      [2, 'job-2', 'task-0'],
      [3, 'job-1', 'task-0'],
      [4, null, null],
    ]);
  });

  test('is read by job over many large batches, also after its end', async () => {
    const leader = await newLeader();
    await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
    await leader.submit(aJob(2), [aSpec(2, 0)], [aTask(2, 0)]);
    const [one, two] = [{ jobNo: jobNo(1) }, { jobNo: jobNo(2) }];
    const others = Array.from({ length: 1_100 }, () => two);
    await leader.commit({ events: [one, ...others] });
    await leader.commit({ events: [...others, one, ...others, one] });
    await leader.commit({
      jobUpdates: [aJob(1, { state: 'succeeded', finishedAt: leader.now })],
      events: [...others, one],
    });
    await leader.commit({ events: others });
    const read = async (after: number, limit: number) => {
      const events = await store().events(leader.shard, after, limit, jobId('job-1'));
      return events.map(({ seq }) => seq);
    };
    expect(await read(0, 100)).toEqual([1, 2_202, 3_303, 4_404]);
    expect(await read(1, 2)).toEqual([2_202, 3_303]);
    expect(await read(3_303, 100)).toEqual([4_404]);
    expect(await read(4_404, 100)).toEqual([]);
    expect(await store().events(leader.shard, 1_000, 2_000)).toHaveLength(2_000);
  });
}
