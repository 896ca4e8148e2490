import { beforeEach, describe, expect, test, vi } from 'vitest';
import { GROUPS_EXECUTOR, checkedSettings, parseJobDocument } from '../core/index.ts';
import type { Json, TaskId } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { withOwnOptions } from '../../../test/rig/harness/raw-tasks.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { PlannedQuery, QueryPlanner } from './index.ts';

type DecideFunction = NonNullable<QueryPlanner['decide']>;

const RAW = {
  name: 'q',
  tasks: [
    { id: 'a', executor: 'echo' },
    { id: 'b', executor: 'echo' },
    ...['r0', 'r1'].map((id, at) => ({
      ...{ id, executor: 'echo', dependsOn: ['a', 'b', 'groups'] },
      input: { $from: 'groups', path: `/${at}` },
    })),
    {
      ...{ id: 'groups', executor: 'echo', dependsOn: ['a', 'b'] },
      input: { sizes: [{ $from: 'a' }, { $from: 'b' }] },
    },
  ],
};
const QUERY: PlannedQuery = {
  document: withOwnOptions(parseJobDocument(RAW, checkedSettings()), {
    groups: { executor: GROUPS_EXECUTOR },
  }),
  seeds: new Map(),
};

let clock: VirtualClock;
let store: Store;
let led: Led;
let worker: ScriptedWorker;
let decide: ReturnType<typeof vi.fn<DecideFunction>>;
let commits: number;

async function takeLead(planner: Partial<QueryPlanner> = { decide }): Promise<void> {
  const plan = (): Promise<PlannedQuery> => Promise.resolve(QUERY);
  const onCommitted = (): void => void (commits += 1);
  led = await lead(store, clock, { planner: { plan, ...planner }, onCommitted });
  await led.leader.loaded;
}

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  commits = 0;
  decide = vi.fn<DecideFunction>((input) => ({
    result: JSON.stringify([input, 'idle']),
    detail: {},
    done: [{ taskId: 'r1' as TaskId, result: '"nothing"' }],
  }));
  await takeLead();
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'sql.fragment']);
  await led.leader.jobs.submitQuery({}, { jobId: jobId('q') }, new AbortController().signal);
});

const state = async (task: string): Promise<string | undefined> =>
  (await store.task(0, jobId('q'), task as TaskId))?.task.state;
const result = async (task: string): Promise<Json> =>
  JSON.parse((await store.task(0, jobId('q'), task as TaskId))?.result ?? 'null') as Json;

async function makeBoth(): Promise<void> {
  const both = await worker.pollNow(2);
  expect(both.map(({ taskId }) => taskId)).toEqual(['a', 'b']);
  for (const [at, { lease }] of both.entries()) await worker.complete(lease, at + 1);
  worker.held.length = 0;
}

describe('a decision of the leader', () => {
  test('is made from committed results, in the commit of the last of them', async () => {
    const both = await worker.pollNow(2);
    await worker.complete(both[0]?.lease ?? expect.fail('no task'), 1);
    expect(decide).not.toHaveBeenCalled();
    const before = commits;
    await worker.complete(both[1]?.lease ?? expect.fail('no task'), 2);
    expect(commits).toBe(before + 1);
    expect(decide.mock.calls).toEqual([[{ sizes: [1, 2] }, 1_000]]);
    expect(await state('groups')).toBe('succeeded');
    expect(await result('r1')).toBe('nothing');
    worker.held.length = 0;
    const [reader] = await worker.pollNow(1);
    expect(reader).toMatchObject({ taskId: 'r0', input: '{"sizes":[1,2]}' });
  });

  test('goes to a worker that waits, with what follows from it', async () => {
    const [a, b] = await worker.pollNow(2);
    const parked = worker.poll(3);
    await worker.complete(a?.lease ?? expect.fail('no task'), 1);
    await worker.complete(b?.lease ?? expect.fail('no task'), 2);
    expect(await parked).toMatchObject([{ taskId: 'r0' }]);
  });

  test('is left to the next leader, which reads what it needs', async () => {
    const [a] = await worker.pollNow(1);
    await worker.complete(a?.lease ?? expect.fail('no task'), 1);
    await store.resign(led.leader.term);
    decide.mockImplementation((input) => ({
      ...{ result: JSON.stringify([input, 0]), detail: {}, done: [] },
    }));
    await takeLead();
    worker.leader = led.leader;
    worker.held.length = 0;
    const [b] = await worker.pollNow(1);
    const parked = worker.poll(2);
    await worker.complete(b?.lease ?? expect.fail('no task'), 2);
    expect((await parked).map(({ taskId }) => taskId)).toEqual(['r0', 'r1']);
    expect(decide.mock.calls).toEqual([[{ sizes: [1, 2] }, 1_000]]);
  });

  test('stays as it is for the next leader', async () => {
    await makeBoth();
    expect(decide).toHaveBeenCalledTimes(1);
    await store.resign(led.leader.term);
    await takeLead();
    worker.leader = led.leader;
    expect(await worker.pollNow(2)).toMatchObject([{ taskId: 'r0' }]);
    expect(decide).toHaveBeenCalledTimes(1);
  });

  test('that fails, fails the query', async () => {
    decide.mockImplementation(() => {
      throw new Error('a partition is read twice');
    });
    await makeBoth();
    expect(await state('groups')).toBe('failed');
    const [task] =
      (await store.job(0, jobId('q')))?.tasks.filter(({ spec }) => spec.id === 'groups') ?? [];
    expect(task?.task.error?.message).toContain('a partition is read twice');
    expect(await state('r0')).toBe('skipped');
  });

  test('is not made where nobody plans queries', async () => {
    await store.resign(led.leader.term);
    await takeLead({});
    worker.leader = led.leader;
    await makeBoth();
    expect(await state('groups')).toBe('failed');
  });
});
