/** Jobs that a handler submits and does not wait for, with a real leader. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LedCluster } from '../../../test/rig/led-cluster.ts';
import { jobId } from '../../../test/rig/lead.ts';
import { decodeJobOptions } from '../../scheduler/core/index.ts';
import type { JobRow, Json } from '../../scheduler/core/index.ts';
import type { Callable, Executor, TaskContext } from '../../tasks/executors/index.ts';

let cluster: LedCluster;
let done: string[];

beforeEach(async () => {
  done = [];
  cluster = await LedCluster.start();
});

afterEach(() => cluster.end());

const other: Executor = {
  name: 'other',
  run: (input) => void done.push(`other ${input as string}`),
};
const mail: Callable<string, Json> = {
  name: 'mail',
  toDocument: (input) => ({ name: 'mail', tasks: [{ id: 'm', executor: 'other', input }] }),
  readResult: (result) => result,
};

async function start(run: (context: TaskContext) => unknown): Promise<void> {
  await cluster.join({ tasks: [{ name: 'it', run: (_, context) => run(context) }, other] });
  await cluster.submit('job', {
    id: 'a',
    executor: 'it',
    retry: { maxAttempts: 5, backoffMs: 10 },
  });
  await cluster.pass(1_000);
}

const jobs = (): Promise<readonly JobRow[]> => cluster.store.jobs(0, { limit: 10 });
const row = (id: unknown): Promise<JobRow | null> => cluster.store.jobRow(0, jobId(id as string));

test('the job runs by itself, once, however often the attempt is repeated', async () => {
  await start(async (ctx) => {
    const id = await ctx.submit('mail', mail, 'ada', { labels: { kind: 'mail' }, priority: 3 });
    done.push(`attempt ${ctx.attempt}`);
    if (ctx.attempt < 3) throw new Error('not yet');
    return id;
  });
  expect(done.filter((word) => word === 'other ada')).toHaveLength(1);
  expect(done).toContain('attempt 3');
  const id = await cluster.result('job', 'a');
  const job = await row(id);
  expect(job).toMatchObject({ state: 'succeeded', priority: 3, labels: ['kind:mail'] });
  expect(decodeJobOptions(job?.options ?? null).startedBy).toEqual({ job: 'job', task: 'a' });
});

test('it is there before the handler goes on, and survives a fail-over and a wait', async () => {
  const seen: unknown[] = [];
  await start(async (ctx) => {
    const id = await ctx.submit('mail', mail, 'ada', { delay: '1h' });
    seen.push(id, (await row(id))?.state);
    await ctx.sleep('nap', '2h');
    return id;
  });
  expect(seen[1]).toBe('queued');
  await cluster.changeLeader();
  await cluster.pass(7_300_000);
  expect(await cluster.result('job', 'a')).toBe(seen[0]);
  expect(done).toEqual(['other ada']);
});

test('a delay counts by the clock of the database', async () => {
  await start((ctx) => ctx.submit('later', mail, 'x', { delay: '1h' }));
  const job = await row(await cluster.result('job', 'a'));
  expect((job?.runAt ?? 0) - (job?.createdAt ?? 0)).toBeLessThanOrEqual(3_600_000);
  expect((job?.runAt ?? 0) - (job?.createdAt ?? 0)).toBeGreaterThan(3_590_000);
});

test('neither cancelling nor failing the job that submitted it ends it', async () => {
  await start(async (ctx) => {
    await ctx.submit('mail', mail, 'ada', { delay: '1h' });
    await ctx.waitFor('never');
  });
  const [submitted] = await jobs();
  await cluster.leader.jobs.cancel(jobId('job'), 'enough');
  await cluster.pass(1_000);
  expect((await row('job'))?.state).toBe('cancelled');
  expect(submitted?.name).toBe('mail');
  await cluster.pass(3_600_000);
  expect((await row(submitted?.id))?.state).toBe('succeeded');
});

test('another run submits another job', async () => {
  let isBroken = true;
  const ids: string[] = [];
  await start(async (ctx) => {
    ids.push(await ctx.submit('mail', mail, 'ada'));
    if (isBroken) throw Object.assign(new Error('broken'), { fatal: true });
  });
  await cluster.pass(10_000);
  isBroken = false;
  await cluster.leader.jobs.rerun(jobId('job'));
  await cluster.pass(1_000);
  expect(new Set(ids).size).toBe(2);
});

test('many at once go in few reports, each has its own job', async () => {
  await start((ctx) =>
    Promise.all(
      Array.from({ length: 50 }, (_, at) => ctx.submit(`mail ${at}`, mail, `user ${at}`)),
    ),
  );
  await cluster.pass(5_000);
  expect(new Set((await cluster.result('job', 'a')) as string[]).size).toBe(50);
  expect(done.toSorted()).toEqual(
    Array.from({ length: 50 }, (_, at) => `other user ${at}`).toSorted(),
  );
});

test.each<readonly [string, (ctx: TaskContext) => unknown, string]>([
  ['nothing to run', (ctx) => ctx.submit('x', {} as typeof mail, ''), 'has nothing to run'],
  ['no name', (ctx) => ctx.submit('', mail, ''), 'A submission needs a name'],
  ['a name of ours', (ctx) => ctx.submit('$x', mail, ''), 'not a valid name for a submission'],
  ['a bad delay', (ctx) => ctx.submit('x', mail, '', { delay: 'soon' }), 'not a valid delay'],
  [
    'a document that the leader refuses',
    (ctx) => ctx.submit('x', { ...mail, toDocument: () => ({ tasks: [] }) }, ''),
    'tasks',
  ],
  [
    'a document that is none',
    (ctx) => ctx.submit('x', { ...mail, toDocument: () => 1n }, ''),
    'JSON',
  ],
])('%s fails the task with the reason, and leaves no job', async (_what, run, words) => {
  await start(async (ctx) => {
    await run(ctx);
    await ctx.sleep('s', 10);
  });
  await cluster.pass(60_000);
  expect((await cluster.task('job', 'a'))?.error?.message).toContain(words);
  expect(await jobs()).toHaveLength(1);
});
