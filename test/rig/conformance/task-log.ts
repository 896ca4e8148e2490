/** What tasks have printed. */
import { expect, test } from 'vitest';
import type { Instant, JobId, TaskId } from '../../../src/scheduler/core/index.ts';
import type { LogRow } from '../../../src/scheduler/store/index.ts';
import type { Bench } from './bench.ts';
import { aJob, aSpec, aTask } from './rows.ts';

const line = (message: string, job = 'job-1', given: Partial<LogRow> = {}): LogRow => ({
  jobId: job as JobId,
  taskId: 'a' as TaskId,
  attempt: 1,
  at: 1_000 as Instant,
  level: 'info',
  message,
  fields: null,
  ...given,
});

export function taskLogTests({ store, newLeader }: Bench): void {
  const read = async (shard: number, job = 'job-1', given = {}): Promise<string[]> => {
    const filter = { jobId: job as JobId, after: 0, limit: 100, ...given };
    return (await store().taskLog.read(shard, filter)).map(({ message }) => message);
  };

  test('lines come back as they were, in the order in which they were appended', async () => {
    const { shard } = await newLeader();
    const rows = [
      line('first \u{1F600} "quoted" \\ \t', 'job-1', { fields: '{"a":"\u00e4"}', level: 'error' }),
      line('of another job', 'job-2'),
      line('second', 'job-1', { taskId: 'b' as TaskId, attempt: 3 }),
    ];
    await store().taskLog.append(shard, rows);
    await store().taskLog.append(shard, [line('third')]);
    const filter = { jobId: 'job-1' as JobId, after: 0, limit: 100 };
    const found = await store().taskLog.read(shard, filter);
    expect(found.map((row) => ({ ...row, seq: undefined }))).toEqual([
      rows[0],
      rows[2],
      line('third'),
    ]);
    const numbers = found.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(3);
  });

  test('lines are found by task, attempt and number, a page at a time', async () => {
    const { shard } = await newLeader();
    const rows = Array.from({ length: 10 }, (_, no) =>
      line(`${no}`, 'job-1', { taskId: `t${no % 2}` as TaskId, attempt: 1 + (no % 3) }),
    );
    await store().taskLog.append(shard, rows);
    expect(await read(shard, 'job-1', { taskId: 't1' })).toEqual(['1', '3', '5', '7', '9']);
    expect(await read(shard, 'job-1', { taskId: 't1', attempt: 1 })).toEqual(['3', '9']);
    const [, second] = await store().taskLog.read(shard, {
      jobId: 'job-1' as JobId,
      after: 0,
      limit: 2,
    });
    expect(await read(shard, 'job-1', { after: second?.seq, limit: 3 })).toEqual(['2', '3', '4']);
    expect(await read(shard, 'nobody')).toEqual([]);
  });

  test('appends at the same time lose nothing, and the lines of a job are numbered once', async () => {
    const { shard } = await newLeader();
    const appends = Array.from({ length: 8 }, (_, no) =>
      store().taskLog.append(shard, [
        line(`${no}a`, no % 2 === 0 ? 'job-1' : 'job-2'),
        line(`${no}b`, no % 2 === 0 ? 'job-2' : 'job-1'),
      ]),
    );
    await Promise.all(appends);
    const filter = { jobId: 'job-1' as JobId, after: 0, limit: 100 };
    const found = await store().taskLog.read(shard, filter);
    expect(found).toHaveLength(8);
    expect(new Set(found.map(({ seq }) => seq)).size).toBe(8);
  });

  test('the lines of a job that is there are kept, those of one that is gone are removed', async () => {
    const leader = await newLeader();
    const { shard } = leader;
    await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
    await store().taskLog.append(shard, [line('kept', 'job-1'), line('gone', 'job-9')]);
    await store().taskLog.prune(shard, 3_600_000);
    expect(await read(shard, 'job-9')).toEqual(['gone']);
    // Less than no time: also what was written just now.
    await store().taskLog.prune(shard, -3_600_000);
    expect(await read(shard, 'job-1')).toEqual(['kept']);
    expect(await read(shard, 'job-9')).toEqual([]);
  });

  test('the lines of one job can be removed', async () => {
    const { shard } = await newLeader();
    await store().taskLog.append(shard, [line('gone'), line('stays', 'job-2')]);
    await store().taskLog.remove(shard, 'job-1' as JobId);
    expect([await read(shard), await read(shard, 'job-2')]).toEqual([[], ['stays']]);
    await store().taskLog.append(shard, [line('of the next one')]);
    expect(await read(shard)).toEqual(['of the next one']);
  });
}
