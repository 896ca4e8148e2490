import { beforeEach, describe, expect, test } from 'vitest';
import { JsonText } from '../../scheduler/contract/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobId, NodeId, ScheduleId, TaskId } from '../../scheduler/core/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { EventFeed } from './event-feed.ts';
import { StoreReader } from './store-reader.ts';
import type { StoreReaderOptions } from './store-reader.ts';

let clock: VirtualClock;
let store: Store;
let led: Led;
let reader: StoreReader;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
  reader = readerWith();
});

function readerWith(given: Partial<StoreReaderOptions> = {}): StoreReader {
  return new StoreReader({ store, feed: new EventFeed({ store, clock }), ...given });
}

const task = (id: string, more: object = {}): object => ({ id, executor: 'echo', ...more });

async function submit(id: string, document: object = { tasks: [task('a')] }): Promise<void> {
  await led.leader.jobs.submit({ name: id, ...document }, { jobId: jobId(id) });
}

/** Runs what can run; a task by the name `bad` fails until it is dead. */
async function runAll(worker: ScriptedWorker): Promise<void> {
  for (;;) {
    const assignments = await worker.pollNow(100);
    if (assignments.length === 0) return;
    for (const { lease, taskId } of assignments) {
      if (taskId !== 'bad') await worker.complete(lease, { of: taskId });
      else {
        const error = { code: 'broken', message: 'no' };
        const item = { kind: 'failed', lease, error, failure: 'retryable' } as const;
        await led.leader.workers.report(worker.session, [item]);
      }
    }
    worker.held.length = 0;
  }
}

describe('a job', () => {
  test('shows names instead of numbers, dates, and unchanged results', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j', {
      priority: 1,
      idempotencyKey: 'k',
      tasks: [task('a'), task('b', { dependsOn: ['a', { id: 'c', required: false }] }), task('c')],
    });
    await runAll(worker);
    const { asOf, value } = await reader.job(jobId('j'));
    expect(value).toMatchObject({
      id: 'j',
      no: 1,
      name: 'j',
      state: 'succeeded',
      priority: 1,
      idempotencyKey: 'k',
      taskCount: 3,
      createdAt: new Date(1_000_000_000_000),
      finishedAt: new Date(1_000_000_000_000),
      history: [],
    });
    expect(value?.tasks[1]).toEqual({
      id: 'b',
      state: 'succeeded',
      run: 1,
      attempt: 1,
      node: 'w',
      executor: 'echo',
      dependsOn: ['a', 'c'],
      parent: null,
      progress: 1,
      result: new JsonText('{"of":"b"}'),
      error: null,
      waiting: null,
      queuedAt: new Date(1_000_000_000_000),
      startedAt: expect.any(Date) as Date,
      finishedAt: new Date(1_000_000_000_000),
    });
    expect(asOf).toEqual(await reader.head());
  });

  test('that is not there is null', async () => {
    expect((await reader.job(jobId('ghost'))).value).toBeNull();
  });

  test('says why up to a hundred of its tasks wait, where that is known', async () => {
    const tasks = Array.from({ length: 150 }, (_, at) => task(`t-${at}`));
    await submit('j', { tasks });
    const asked: (readonly TaskId[])[] = [];
    const explain = async (_job: JobId, ids: readonly TaskId[]): Promise<Map<TaskId, string>> => {
      asked.push(ids);
      const known = ids.filter((id) => id !== 't-3');
      return new Map(known.map((id) => [id, `because of ${id}`]));
    };
    const known = readerWith({ explain });
    const waiting = (await known.job(jobId('j'))).value?.tasks.map((each) => each.waiting);
    // The leader is asked once for all of them.
    expect(asked.map((ids) => ids.length)).toEqual([100]);
    expect(waiting?.slice(2, 5)).toEqual(['because of t-2', null, 'because of t-4']);
    expect(waiting?.filter((why) => why !== null)).toHaveLength(99);
    expect((await reader.job(jobId('j'))).value?.tasks[0]?.waiting).toBeNull();
  });

  test('without waiting tasks is shown without asking why', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j');
    await runAll(worker);
    const explain = (): Promise<never> => Promise.reject(new TypeError('nobody should ask'));
    expect((await readerWith({ explain }).job(jobId('j'))).value?.state).toBe('succeeded');
  });

  test('shows its own result, or says that it is too large', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j');
    expect((await reader.job(jobId('j'))).value?.result).toBeNull();
    await runAll(worker);
    expect((await reader.job(jobId('j'))).value?.result).toEqual({ of: 'a' });
    const narrow = (await readerWith({ resultCharsMax: 9 }).job(jobId('j'))).value;
    expect(narrow).toMatchObject({ result: null, isResultOmitted: true });
  });

  test('leaves out results that are too large, and says so', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j', { tasks: ['a', 'b', 'much-too-long', 'd', 'e'].map((id) => task(id)) });
    await runAll(worker);
    // Each is {"of":"x"}, ten characters; three of them have room.
    const { value } = await readerWith({ resultCharsMax: 39 }).job(jobId('j'));
    const shown = value?.tasks.map(({ result, isResultOmitted }) => [
      result instanceof JsonText ? result.toJSON() : result,
      isResultOmitted,
    ]);
    expect(shown).toEqual([
      [{ of: 'a' }, undefined],
      [{ of: 'b' }, undefined],
      [null, true],
      [{ of: 'd' }, undefined],
      [null, true],
    ]);
    const all = (await reader.job(jobId('j'))).value?.tasks ?? [];
    expect(all.some((each) => 'isResultOmitted' in each)).toBe(false);
  });

  test('is shown without reasons when the leader term ends, and other errors are not hidden', async () => {
    await submit('j');
    const over = readerWith({
      explain: () => Promise.reject(new MillraceError({ code: 'not_leader', what: 'no more' })),
    });
    expect((await over.job(jobId('j'))).value?.tasks[0]).toMatchObject({ waiting: null });
    const broken = readerWith({ explain: () => Promise.reject(new TypeError('a bug')) });
    await expect(broken.job(jobId('j'))).rejects.toThrow('a bug');
  });

  test('keeps the history of its earlier runs', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j', { tasks: [task('bad', { retry: { maxAttempts: 1 } })] });
    await runAll(worker);
    await led.leader.jobs.rerun(jobId('j'));
    const { value } = await reader.job(jobId('j'));
    expect(value).toMatchObject({ run: 2, state: 'queued', tasks: [{ id: 'bad', run: 2 }] });
    expect(value?.history).toMatchObject([{ id: 'bad', run: 1, state: 'failed', node: 'w' }]);
  });
});

describe('a list', () => {
  test('of jobs comes in pages, newest first, each job once, while more arrive', async () => {
    for (let at = 1; at <= 25; at += 1) await submit(`j-${at}`);
    const seen: string[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await reader.jobs({ limit: 10, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.value.items.map(({ id }) => id));
      ({ cursor } = page.value);
      await submit(`later-${seen.length}`);
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, at) => `j-${25 - at}`));
  });

  test('of jobs is filtered by state and by name', async () => {
    await submit('x');
    await submit('y');
    await led.leader.jobs.cancel(jobId('x'), 'no');
    const ids = async (filter: object): Promise<string[]> =>
      (await reader.jobs({ limit: 10, ...filter })).value.items.map(({ id }) => id);
    expect(await ids({ state: 'cancelled' })).toEqual(['x']);
    expect(await ids({ name: 'y' })).toEqual(['y']);
    expect(await ids({ name: 'y', state: 'cancelled' })).toEqual([]);
  });

  test('of dead tasks comes in pages, with the executor', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    for (const id of ['x', 'y', 'z']) {
      await submit(id, { tasks: [task('bad', { retry: { maxAttempts: 1 } })] });
    }
    await runAll(worker);
    const first = await reader.deadTasks({ limit: 2 });
    expect(first.value.items).toMatchObject([
      { job: 'z', task: 'bad', executor: 'echo', attempt: 1, error: { code: 'dead' } },
      { job: 'y', task: 'bad' },
    ]);
    const { cursor } = first.value;
    const second = await reader.deadTasks({ limit: 2, cursor: cursor ?? '' });
    expect(second.value).toMatchObject({ items: [{ job: 'x' }], cursor: null });
    await expect(reader.jobs({ limit: 1, cursor: cursor ?? '' })).rejects.toMatchObject({
      code: 'bad_input',
      path: '?cursor',
    });
  });

  test('of nodes shows what each offers and holds', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'http']);
    await submit('j');
    await worker.pollNow(1);
    const { value } = await reader.nodes();
    expect(value).toMatchObject([
      { id: 'w', status: 'healthy', running: 1, executors: ['echo', 'http'], capabilities: {} },
    ]);
  });

  test('of nodes shows the last heartbeat of each, where that is known', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    const feed = new EventFeed({ store, clock });
    const seenAt = (node: NodeId) => led.leader.workers.seenAt(node);
    const [before] = (await reader.nodes()).value;
    await clock.advance(5_000);
    await worker.beat();
    const [after] = (await new StoreReader({ store, feed, seenAt }).nodes()).value;
    const passedMs = Number(after?.seenAt) - Number(before?.seenAt);
    expect(passedMs).toBeGreaterThanOrEqual(5_000);
  });

  test('of nodes shows what the leader says that each holds, where it leads', async () => {
    const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
    await submit('j');
    await worker.pollNow(1);
    const feed = new EventFeed({ store, clock });
    const holds = () => (node: NodeId) => led.leader.holds(node) + 40;
    const { value } = await new StoreReader({ store, feed, holds }).nodes();
    expect(value).toMatchObject([{ id: 'w', running: 41 }]);
  });

  test('of schedules shows timing and document as they were given', async () => {
    const document = { tasks: [task('a')] };
    const id = 'nightly' as ScheduleId;
    await led.leader.schedules.put(id, { timing: { everyMs: 60_000 }, document });
    const { value } = await reader.schedules();
    expect(value).toMatchObject([
      { id, paused: false, lastAt: null, lastJob: null, spec: { timing: { everyMs: 60_000 } } },
    ]);
    expect(value[0]?.nextAt?.getTime()).toBeGreaterThan(1_000_000_000_000);
  });
});

test('a task shows its input as the handler gets it, once the results in it are there', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  const input = {
    all: { $from: 'a' },
    one: { $from: 'a', path: '/of' },
    none: { $from: 'a', path: '/x', missing: 'omit' },
    data: { $literal: { $from: 'z' } },
  };
  const when = [{ $from: 'a', path: '/of', '=': 'a' }];
  await submit('j', {
    tasks: [task('a', { input: 7 }), task('b', { dependsOn: ['a'], input, when })],
  });
  const resolved = async (id: string, from = reader): Promise<unknown> =>
    (await from.task(jobId('j'), id as TaskId)).value?.resolvedInput;
  expect(await resolved('a')).toBe(7);
  expect(await resolved('b')).toBeNull();
  await runAll(worker);
  const expected = { all: { of: 'a' }, one: 'a', data: { $from: 'z' } };
  expect(await resolved('b')).toEqual(expected);
  expect(await resolved('b', readerWith({ resultCharsMax: 10 }))).toBeNull();
});

test('a task shows each of its attempts: where it ran, from when to when, and how it ended', async () => {
  const worker = await ScriptedWorker.join(led.leader, 'w', ['echo']);
  await submit('j', {
    tasks: [task('a', { retry: { maxAttempts: 3, backoffMs: 100 } }), task('b')],
  });
  const attempts = async (id = 'a') =>
    (await reader.task(jobId('j'), id as TaskId)).value?.attempts ?? [];
  expect(await attempts()).toEqual([]);
  const report = async (end: object): Promise<void> => {
    const [{ lease } = {}] = (await worker.pollNow(100)).filter(({ taskId }) => taskId === 'a');
    await led.leader.workers.report(worker.session, [{ kind: 'started', lease: lease! }]);
    await clock.advance(50);
    await led.leader.workers.report(worker.session, [{ lease: lease!, ...end } as never]);
    worker.held.length = 0;
    await clock.advance(1_000);
  };
  const error = { code: 'broken', message: 'no' };
  await report({ kind: 'failed', error, failure: 'retryable' });
  await report({ kind: 'released' });
  expect(await attempts()).toMatchObject([
    { attempt: 1, outcome: 'failed' },
    { attempt: 2, outcome: 'returned', error: null },
  ]);
  await report({ kind: 'completed', result: null });
  const at = (ms: number): Date => new Date(1_000_000_000_000 + ms);
  const one = { run: 1, node: 'w', speculative: false };
  expect(await attempts()).toEqual([
    {
      ...{ ...one, attempt: 1, fence: 1, started: at(0), finished: at(50) },
      ...{ outcome: 'failed', error },
    },
    {
      ...{ ...one, attempt: 2, fence: 2, started: at(1_050), finished: at(1_100) },
      ...{ outcome: 'returned', error: null },
    },
    {
      ...{ ...one, attempt: 2, fence: 3, started: at(2_100), finished: at(2_150) },
      ...{ outcome: 'succeeded', error: null },
    },
  ]);
  // The other one has never been heard of again: its lease expires with the session.
  await clock.advance(30_000);
  expect(await attempts('b')).toMatchObject([
    { attempt: 1, fence: 1, node: 'w', outcome: 'lost', error: { code: 'lost' } },
  ]);
});

test('the leader is whoever holds the shard', async () => {
  expect(await reader.leader()).toMatchObject({ epoch: 1, url: null, grpc: null });
  await led.leader.end(new MillraceError({ code: 'shutting_down', what: 'enough' }));
  await clock.advance(10_001);
  expect(await reader.leader()).toBeNull();
  led = await lead(store, clock);
  expect(await reader.leader()).toMatchObject({ epoch: 2 });
  await store.resign(led.leader.term);
  expect(await reader.leader()).toBeNull();
});

test('events are followed through the feed', async () => {
  await submit('j');
  const pages = reader.follow({ after: 0, job: jobId('j') }, new AbortController().signal);
  for await (const { events } of pages) {
    expect(events.map(({ kind, job, task: id }) => [kind, job, id])).toEqual([
      ['job.created', 'j', null],
      ['created', 'j', 'a'],
      ['queued', 'j', 'a'],
    ]);
    break;
  }
});
