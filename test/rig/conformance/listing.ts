import { expect, test } from 'vitest';
import { canonicalJson, instant, jobNo, taskNo } from '../../../src/scheduler/core/index.ts';
import type {
  JobId,
  JobRow,
  ScheduleId,
  StartedBy,
  TaskId,
} from '../../../src/scheduler/core/index.ts';
import { type DeadFilter, NO_JOBS } from '../../../src/scheduler/store/index.ts';
import type { Bench } from './bench.ts';
import { aJob, aNode, aSchedule, aSpec, aTask, AT, nodeId, running, succeeded } from './rows.ts';

const DEAD = { code: 'dead', message: 'out of attempts' };
const failed = (job: number, no: number, error = DEAD) =>
  succeeded(job, no, { state: 'failed', error });
const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });
const ENDED = { state: 'failed', finishedAt: instant(AT + 1) } as const;

export function listingTests(bench: Bench): void {
  nodeTests(bench);
  deadTests(bench);
  countTests(bench);
  waitingTests(bench);
  timeTests(bench);
  originTests(bench);
  headTests(bench);
}

function nodeTests({ store, newShard, newLeader }: Bench): void {
  test('nodes come by id, each with the number of tasks that it runs', async () => {
    const leader = await newLeader();
    const held = (no: number, id: string) => running(1, no, { nodeId: nodeId(id) });
    const specs = [0, 1, 2, 3, 4].map((no) => aSpec(1, no));
    // A task that has ended still names its node, and is not counted.
    const ended = succeeded(1, 3, { nodeId: nodeId('w-b') });
    await leader.submit(aJob(1), specs, [
      held(0, 'w-b'),
      held(1, 'w-a'),
      held(2, 'w-b'),
      ended,
      aTask(1, 4),
    ]);
    await leader.submit(aJob(2), [aSpec(2, 0)], [running(2, 0, { nodeId: nodeId('w-b') })]);
    const rows = [aNode('w-b'), aNode('w-a', { draining: true }), aNode('W-c')];
    await leader.commit({ nodeUpserts: rows });
    expect(await store().nodes(leader.shard)).toEqual([
      { ...aNode('W-c'), running: 0 },
      { ...aNode('w-a', { draining: true }), running: 1 },
      { ...aNode('w-b'), running: 3 },
    ]);
  });

  test('schedules come by id', async () => {
    const leader = await newLeader();
    const rows = [aSchedule('b', { paused: true }), aSchedule('a')];
    await leader.commit({ scheduleUpserts: rows });
    expect(await store().schedules(leader.shard)).toEqual(rows.toReversed());
  });

  test('a shard that nobody has led shows nothing', async () => {
    const shard = newShard();
    expect(await store().nodes(shard)).toEqual([]);
    expect(await store().schedules(shard)).toEqual([]);
    expect(await store().deadTasks(shard, { limit: 9 })).toEqual([]);
    expect(await store().lastSeq(shard)).toMatchObject({ seq: 0, firstSeq: 1 });
  });
}

function timeTests({ store, newLeader }: Bench): void {
  test('jobs are listed by the time of their creation, with all other filters and in pages', async () => {
    const leader = await newLeader();
    const at = (ms: number) => instant(AT + ms);
    const list = async (filter: object) =>
      (await store().jobs(leader.shard, { limit: 100, ...filter })).map(({ no }) => no);
    expect(await list({ since: at(0), until: at(9_000_000) })).toEqual([]);
    // Three at once, one by a clock that was set back, and gaps where jobs were removed.
    const times: [no: number, ms: number][] = [
      [2, 0],
      ...[3, 4, 5].map((no): [number, number] => [no, 3_600_000]),
      [6, 3_590_000],
      [20, 7_200_000],
      [21, 7_200_001],
    ];
    for (const [no, ms] of times) {
      const labels = no % 2 === 0 ? ['team:a'] : [];
      const job = aJob(no, { createdAt: at(ms), labels });
      await leader.submit(job, [aSpec(no, 0)], [aTask(no, 0)]);
    }
    expect(await list({ since: at(-1) })).toEqual([21, 20, 6, 5, 4, 3, 2]);
    expect(await list({ since: at(7_200_001) })).toEqual([21]);
    expect(await list({ since: at(7_200_002) })).toEqual([]);
    expect(await list({ until: at(0) })).toEqual([]);
    expect(await list({ until: at(1) })).toEqual([2]);
    expect(await list({ since: at(3_600_000), until: at(7_200_000) })).toEqual([5, 4, 3]);
    expect(await list({ since: at(3_590_000), until: at(3_600_000) })).toEqual([6]);
    expect(await list({ since: at(3_600_000), limit: 2 })).toEqual([21, 20]);
    expect(await list({ since: at(3_600_000), limit: 2, before: jobNo(20) })).toEqual([5, 4]);
    expect(await list({ until: at(7_200_000), labels: ['team:a'] })).toEqual([6, 4, 2]);
    expect(await list({ since: at(1), until: at(3_600_001), labels: ['team:a'] })).toEqual([6, 4]);
    expect(await list({ since: at(1), state: 'failed' })).toEqual([]);
  });
}

function originTests({ store, newLeader }: Bench): void {
  test('jobs are listed by their schedule and by what has started them', async () => {
    const leader = await newLeader();
    const list = async (filter: object) =>
      (await store().jobs(leader.shard, { limit: 100, ...filter })).map(({ no }) => no);
    const add = (no: number, parts: Partial<JobRow>) =>
      leader.submit(aJob(no, parts), [aSpec(no, 0)], [aTask(no, 0)]);
    const by = (startedBy: StartedBy, more: object = {}) => ({
      options: canonicalJson({ ...more, startedBy: { ...startedBy } }),
    });
    const event = (name: string, id: string, more = {}) => by({ event: name, id }, more);
    await add(1, event('tick', 'e1'));
    await add(2, event('tick', 'e/"2"', { fairnessKey: '"startedBy":{"event":"tock","id":"e"}' }));
    await add(3, event('tick.x', 'e1'));
    await add(4, by({ job: 'tick' as JobId, task: 'a' as TaskId }));
    await add(5, { ...by({ job: 'j' as JobId, task: 'b' as TaskId }), labels: ['team:a'] });
    await add(6, { scheduleId: 'nightly' as ScheduleId });
    await add(7, { scheduleId: 'nightly' as ScheduleId, name: 'other' });
    await add(8, { scheduleId: 'Nightly' as ScheduleId });
    expect(await list({ schedule: 'nightly' })).toEqual([7, 6]);
    expect(await list({ schedule: 'nightly', limit: 1, before: jobNo(7) })).toEqual([6]);
    expect(await list({ schedule: 'nightly', name: 'other', state: 'running' })).toEqual([7]);
    expect(await list({ schedule: 'night' })).toEqual([]);
    expect(await list({ startedBy: 'event/tick' })).toEqual([2, 1]);
    expect(await list({ startedBy: 'event/tick', limit: 1, before: jobNo(2) })).toEqual([1]);
    expect(await list({ startedBy: 'event/tick/e1' })).toEqual([1]);
    expect(await list({ startedBy: 'event/tick/e/"2"' })).toEqual([2]);
    expect(await list({ startedBy: 'event/tick/e' })).toEqual([]);
    // What others have written into the options is not looked at.
    expect(await list({ startedBy: 'event/tock' })).toEqual([]);
    expect(await list({ startedBy: 'event/tick_x' })).toEqual([]);
    expect(await list({ startedBy: 'job/tick' })).toEqual([4]);
    expect(await list({ startedBy: 'job/j/b', labels: ['team:a'] })).toEqual([5]);
    expect(await list({ startedBy: 'job/j/a' })).toEqual([]);
    expect(await list({ startedBy: 'job/j', schedule: 'nightly' })).toEqual([]);
  });
}

function waitingTests({ store, newLeader }: Bench): void {
  const waits = (...names: string[]) =>
    JSON.stringify({
      // What a shape says is not what the task waits for.
      signals: names.map((name) => ({
        step: `$signal/${name}`,
        name,
        shape: { fields: { name: { texts: ['go', '"name":"ok"'] } } },
      })),
      jobs: [{ step: '$job/name', jobId: 'job-9' }],
    });
  const waiting = (job: number, no: number, text: string) =>
    aTask(job, no, { state: 'blocked', suspended: 'signal', waits: text, queuedAt: null });

  test('jobs that wait for a signal are listed by its name or all, newest first, in pages', async () => {
    const leader = await newLeader();
    const list = async (filter: object) => {
      const jobs = await store().jobs(leader.shard, { limit: 100, ...filter });
      return jobs.map(({ no, waitsFor }) => [no, waitsFor]);
    };
    const submit = (no: number, tasks: readonly string[], parts = {}) =>
      leader.submit(
        aJob(no, parts),
        tasks.map((_, at) => aSpec(no, at)),
        tasks.map((text, at) => waiting(no, at, text)),
      );
    await submit(1, [waits('ok')], { labels: ['team:a'] });
    await submit(2, [waits('go', 'ok'), waits('o_')]);
    await submit(3, [waits()]);
    await leader.submit(aJob(4), [aSpec(4, 0)], [aTask(4, 0)]);
    await submit(5, [waits('ok'), waits('ok')], { name: 'other', labels: ['team:a', 'x:y'] });
    expect(await list({ waitingFor: 'ok' })).toEqual([
      [5, ['ok']],
      [2, ['go', 'ok']],
      [1, ['ok']],
    ]);
    expect(await list({ waitingFor: '*' })).toEqual([
      [5, ['ok']],
      [2, ['go', 'o_', 'ok']],
      [1, ['ok']],
    ]);
    // An underscore is a letter here.
    expect(await list({ waitingFor: 'o_' })).toEqual([[2, ['o_']]]);
    expect(await list({ waitingFor: 'OK' })).toEqual([]);
    expect(await list({ waitingFor: 'ok', limit: 1 })).toEqual([[5, ['ok']]]);
    expect(await list({ waitingFor: 'ok', limit: 1, before: jobNo(5) })).toEqual([
      [2, ['go', 'ok']],
    ]);
    expect(await list({ waitingFor: 'ok', name: 'other' })).toEqual([[5, ['ok']]]);
    expect(await list({ waitingFor: 'ok', labels: ['team:a'] })).toHaveLength(2);
    expect(await list({ waitingFor: 'ok', labels: ['x:y', 'team:a'] })).toEqual([[5, ['ok']]]);
    expect(await list({ waitingFor: 'ok', state: 'failed' })).toEqual([]);
    expect((await list({}))[0]).toEqual([5, undefined]);
    // It has got its signal.
    await leader.commit({ taskUpdates: [aTask(5, 0, { waits: waits() }), aTask(5, 1)] });
    expect(await list({ waitingFor: '*' })).toEqual([
      [2, ['go', 'o_', 'ok']],
      [1, ['ok']],
    ]);
  });
}

function countTests({ store, newShard, newLeader }: Bench): void {
  test('jobs are counted by state, the newest up to a limit', async () => {
    expect(await store().countJobs(newShard(), 9)).toEqual(NO_JOBS);
    const leader = await newLeader();
    const over = (state: 'succeeded' | 'failed') => ({ state, finishedAt: instant(AT + 1) });
    await leader.submit(aJob(1, over('failed')), [aSpec(1, 0)], [failed(1, 0)]);
    await leader.submit(aJob(2), [aSpec(2, 0)], [running(2, 0)]);
    await leader.submit(aJob(3, over('succeeded')), [aSpec(3, 0)], [succeeded(3, 0)]);
    await leader.submit(aJob(4, over('succeeded')), [aSpec(4, 0)], [succeeded(4, 0)]);
    const { state } = aJob(2);
    const all = { ...NO_JOBS, [state]: 1, succeeded: 2, failed: 1 };
    expect(await store().countJobs(leader.shard, 9)).toEqual(all);
    expect(await store().countJobs(leader.shard, 4)).toEqual(all);
    expect(await store().countJobs(leader.shard, 2)).toEqual({ ...NO_JOBS, succeeded: 2 });
  });
}

function deadTests({ store, newLeader }: Bench): void {
  test('dead tasks come newest first, with their names, in pages', async () => {
    const leader = await newLeader();
    const other = { code: 'bad_result', message: 'no' };
    const three = (job: number) => [0, 1, 2].map((no) => aSpec(job, no));
    await leader.submit(aJob(1, ENDED), three(1), [failed(1, 0), failed(1, 1), failed(1, 2)]);
    await leader.submit(aJob(2, ENDED), [aSpec(2, 0)], [failed(2, 0, other)]);
    const ended = { state: 'succeeded', finishedAt: AT } as const;
    await leader.submit(aJob(3, ended), [aSpec(3, 0)], [succeeded(3, 0)]);
    // The job may still be at work elsewhere.
    await leader.submit(aJob(4), three(4), [aTask(4, 0), failed(4, 1), running(4, 2)]);
    const page = async (filter: DeadFilter) =>
      (await store().deadTasks(leader.shard, filter)).map(
        ({ jobId: id, taskId, executor, task }) => {
          expect(executor).toBe(aSpec(task.jobNo, task.taskNo).executor);
          expect(task).toEqual(failed(task.jobNo, task.taskNo));
          return `${id}/${taskId}`;
        },
      );
    const all = ['job-4/task-1', 'job-1/task-2', 'job-1/task-1', 'job-1/task-0'];
    expect(await page({ limit: 9 })).toEqual(all);
    expect(await page({ limit: 2 })).toEqual(all.slice(0, 2));
    expect(await page({ limit: 2, before: ref(1, 2) })).toEqual(all.slice(2));
    expect(await page({ limit: 2, before: ref(4, 1) })).toEqual(all.slice(1, 3));
    expect(await page({ limit: 2, before: ref(1, 0) })).toEqual([]);
  });
}

function headTests({ store, newLeader }: Bench): void {
  test('the head of the log is its newest event, and says where reading may begin', async () => {
    const leader = await newLeader();
    await leader.commit({ events: Array.from({ length: 5 }, () => ({ at: leader.now })) });
    const head = await store().lastSeq(leader.shard);
    expect(head).toMatchObject({ seq: 5, firstSeq: 1 });
    expect(head.at).toBeGreaterThanOrEqual(leader.now);
    expect(Number.isSafeInteger(head.at)).toBe(true);
    await leader.commit({ events: [{ at: leader.now }] });
    expect(await store().lastSeq(leader.shard)).toMatchObject({ seq: 6, firstSeq: 1 });
  });
}
