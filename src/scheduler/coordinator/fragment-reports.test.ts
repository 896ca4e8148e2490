import { beforeEach, expect, test } from 'vitest';
import type { SessionId, TaskId } from '../core/index.ts';
import type { FragmentEnd, HeldFragment, ReadyAssignment } from '../contract/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { queryJob } from '../../../test/rig/query-job.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

let store: Store;
let led: Led;
let worker: ScriptedWorker;
let ends: FragmentEnd[];
let asked: { readonly fragment: HeldFragment; readonly reported: string | null }[];
let first: ReadyAssignment;

beforeEach(async () => {
  const clock = new VirtualClock();
  store = memoryStore(clock);
  ends = [];
  asked = [];
  const fragments = {
    complete: (fragment: HeldFragment, reported: string | null): Promise<FragmentEnd> => {
      asked.push({ fragment, reported });
      return Promise.resolve(ends.shift() ?? { result: reported ?? 'null' });
    },
    committed: () => Promise.resolve([]),
  };
  const planner = { plan: () => Promise.resolve(queryJob()), fragments };
  led = await lead(store, clock, { planner });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  const { signal } = new AbortController();
  await led.leader.jobs.submitQuery({ sql: 'q' }, { jobId: jobId('q') }, signal);
  const [assignment] = await worker.pollNow(1);
  first = assignment ?? expect.fail('there is no work');
});

const task = (id: string) => store.task(0, jobId('q'), id as TaskId);

test('a fragment without a registered output stays leased until it is reported again', async () => {
  ends = ['unregistered'];
  const { lease } = first;
  const { verdicts } = await led.leader.workers.report(worker.session, [
    { kind: 'started', lease },
    { kind: 'completed', lease, result: null },
    { kind: 'progress', lease, fraction: 0.5, note: null },
  ]);
  expect(verdicts).toEqual(['ok', 'unregistered', 'ok']);
  expect(asked).toMatchObject([
    {
      fragment: { query: 'q', taskId: 's0.0', stage: 0, task: 0, fence: lease.fence, attempt: 1 },
      reported: null,
    },
  ]);
  expect((await task('s0.0'))?.task.state).toBe('running');
  ends = [{ result: '{"made":"of it"}' }];
  expect((await worker.complete(lease)).verdicts).toEqual(['ok']);
  expect(await task('s0.0')).toMatchObject({
    task: { state: 'succeeded' },
    result: '{"made":"of it"}',
  });
  // Accepted before: the answer was lost, nothing has to be registered again.
  expect((await worker.complete(lease)).verdicts).toEqual(['ok']);
  expect(asked).toHaveLength(2);
});

test('a result that is not one of the fragment fails the task for good', async () => {
  ends = [{ fault: 'has no list at parts' }];
  expect((await worker.complete(first.lease, {})).verdicts).toEqual(['ok']);
  expect((await task('s0.0'))?.task).toMatchObject({
    state: 'failed',
    error: { code: 'bad_result', message: 'the result of fragment s0.0 has no list at parts' },
  });
});

test('only the session that holds the lease of an attempt may register its output', async () => {
  const { workers } = led.leader;
  const { fence } = first.lease;
  const key = { query: jobId('q'), stage: 0, task: 0, fence: 0, attempt: 0 };
  const held = workers.heldFragment(worker.session, { ...key, fence, attempt: 1 });
  expect(held).toMatchObject({ taskId: 's0.0', fence, attempt: 1, nodeId: 'w' });
  expect(workers.heldFragment(worker.session, key)).toEqual(held);
  const other = await ScriptedWorker.join(led.leader, 'x', ['sql.fragment']);
  const wrong = [
    { fence: 99 },
    { attempt: 2 },
    { task: 1 },
    { stage: 9 },
    { query: jobId('none') },
  ];
  for (const each of wrong)
    expect(() => workers.heldFragment(worker.session, { ...key, ...each })).toThrow(
      'This session does not run',
    );
  expect(() => workers.heldFragment(other.session, key)).toThrow('This session does not run');
  const stranger = { ...worker.session, sessionId: 'guessed' as SessionId };
  expect(() => workers.heldFragment(stranger, key)).toThrow('Call RegisterWorker first');
});
