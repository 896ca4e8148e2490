import { expect, onTestFinished, test, vi } from 'vitest';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Json } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { VirtualClock } from '../../../../test/rig/virtual-clock.ts';
import { testContext, thrownBy } from '../../../../test/rig/task-context.ts';
import type { TaskContext, TaskDefinition } from '../executor.ts';
import { classifyFailure } from '../failure.ts';
import type { AttemptHooks } from '../attempt-hooks.ts';
import { ExecutorRegistry } from '../registry.ts';
import { ThreadPool } from './pool.ts';
import type { ThreadSettings } from './pool.ts';

const module = new URL('../../../../test/rig/thread-tasks.ts', import.meta.url).href;

function poolWith(settings: Partial<ThreadSettings> = {}): ThreadPool {
  const pool = new ThreadPool(settings);
  onTestFinished(() => pool.close());
  return pool;
}

function run(pool: ThreadPool, name: string, input: Json = null, context = testContext()) {
  return pool.executor({ module, name }).run(input, context) as Promise<unknown>;
}

const enough = new MillraceError({ code: 'superseded', what: 'enough' });

/** A context that tells when its handler logs something. */
function listening(parts: Partial<TaskContext> = {}) {
  const said = deferred<string>();
  const log = (message: string): void => said.resolve(message);
  const context = testContext({ log: { debug: log, info: log, warn: log, error: log }, ...parts });
  return { context, said: said.promise };
}

test('tasks run on a reused thread, also those that only a flow exports', async () => {
  const pool = poolWith();
  const first = (await run(pool, 'where', { a: [1] })) as { threadId: number };
  expect(first).toMatchObject({ input: { a: [1] }, isMainThread: false });
  expect(await run(pool, 'where')).toMatchObject({ threadId: first.threadId });
  expect(await run(pool, 'of-flow')).toBe('of flow');
  expect(pool.size).toBe(1);
});

test('the registry sends a task with a thread there, and leaves the others where they are', async () => {
  const registry = new ExecutorRegistry();
  onTestFinished(() => registry.close());
  const kind = 'millrace.task';
  const plain: TaskDefinition = { kind, name: 'plain', run: () => 'here' };
  const threaded: TaskDefinition = { ...plain, name: 'where', thread: module };
  registry.add(threaded, 'test');
  registry.add(plain, 'test');
  expect(await registry.get('where')?.run(null, testContext())).toMatchObject({
    isMainThread: false,
  });
  expect(registry.get('plain')).toBe(plain);
});

test('an abort reaches the handler with its reason, and the thread is reused', async () => {
  const pool = poolWith();
  const { context, said } = listening();
  const running = thrownBy(() => run(pool, 'heeds', null, context));
  await said;
  context.abort(enough);
  expect(await running).toBe(enough);
  expect(await run(pool, 'where')).toMatchObject({ isMainThread: false });
  expect(pool.size).toBe(1);
  expect(await thrownBy(() => run(pool, 'where', null, context))).toBe(enough);
});

test.each(['spin', 'deaf'])('%s is ended with its thread when the grace is over', async (name) => {
  const clock = new VirtualClock();
  const pool = poolWith({ clock, graceMs: 1_000 });
  const { context, said } = listening();
  const running = thrownBy(() => run(pool, name, null, context));
  await said;
  context.abort(enough);
  await clock.advance(999);
  expect(pool.size).toBe(1);
  await clock.advance(1);
  expect(await running).toBe(enough);
  expect(pool.size).toBe(0);
  expect(await run(pool, 'where')).toMatchObject({ isMainThread: false });
});

test('progress and log lines of a handler that never yields arrive', async () => {
  const clock = new VirtualClock();
  const progressed = deferred();
  const { context, said } = listening({ progress: () => progressed.resolve() });
  const running = thrownBy(() => run(poolWith({ clock, graceMs: 0 }), 'spin', null, context));
  expect(await said).toBe('spinning');
  await progressed.promise;
  context.abort(enough);
  await clock.advance(0);
  expect(await running).toBe(enough);
});

test.each([
  ['exits', /it ended itself/],
  ['breaks', /loose end/],
  ['hungry', /memory/],
])(
  'a thread that dies fails the attempt, not the process, and may be tried again: %s',
  async (name, message) => {
    const pool = poolWith({ limits: { maxOldGenerationSizeMb: 24 } });
    const thrown = await thrownBy(() => run(pool, name));
    expect(classifyFailure(thrown)).toEqual({
      failure: 'retryable',
      error: { code: 'thread_died', message: expect.stringMatching(message) as string },
    });
    expect(await run(pool, 'where')).toMatchObject({ isMainThread: false });
  },
);

/** A context that can be suspended, by hand. */
function suspendable(parts: Partial<TaskContext> = {}) {
  const asked = deferred();
  let onSuspended = (): void => {};
  const held: string[] = [];
  const attemptHooks: AttemptHooks = {
    hold() {
      held.push('held');
      return () => held.push('released');
    },
    onSuspended: (fn) => (onSuspended = fn),
    unfit: () => Promise.resolve(),
    hasStep: () => false,
  };
  const context = {
    ...testContext({
      sleep: () => {
        asked.resolve();
        return new Promise(() => {});
      },
      ...parts,
    }),
    attemptHooks,
  };
  return { context, held, asked: asked.promise, suspend: () => onSuspended() };
}

test('a suspended attempt frees its thread, and nothing of its handler runs any more', async () => {
  const pool = poolWith({ max: 1 });
  const { context, asked, suspend } = suspendable();
  let isSettled = false;
  const settle = (): boolean => (isSettled = true);
  run(pool, 'sleeps', null, context).then(settle, settle);
  await asked;
  suspend();
  const { threadId } = (await run(pool, 'where')) as { threadId: number };
  expect(await run(pool, 'where')).toMatchObject({ threadId });
  expect(pool.size).toBe(1);
  expect({ isSettled, logged: context.logged }).toEqual({ isSettled: false, logged: [] });
});

test('an answered handler is not suspended before it could continue', async () => {
  const { context, held } = suspendable();
  const steps: string[] = [];
  const step: TaskContext['step'] = async (name, fn) => {
    steps.push(name);
    // Between the two steps there is no moment in which nothing is held.
    if (name === 'b') expect(held).toEqual(['held']);
    return (await fn()) as never;
  };
  expect(await run(poolWith(), 'races', null, { ...context, step })).toBe(2);
  expect(steps).toEqual(['a', 'b']);
  expect(held).toEqual(['held', 'released', 'held', 'released']);
});

test('there are never more threads than allowed: a task waits, and an abort ends its wait', async () => {
  const pool = poolWith({ max: 1 });
  const busy = listening();
  const first = thrownBy(() => run(pool, 'heeds', null, busy.context));
  await busy.said;
  const waiting = testContext();
  const second = run(pool, 'where');
  const third = thrownBy(() => run(pool, 'where', null, waiting));
  waiting.abort(enough);
  expect(await third).toBe(enough);
  expect(pool.size).toBe(1);
  busy.context.abort(enough);
  await first;
  expect(await second).toMatchObject({ isMainThread: false });
});

test('a thread that dies makes room for a waiting task', async () => {
  const clock = new VirtualClock();
  const pool = poolWith({ max: 1, clock, graceMs: 0 });
  const { context, said } = listening();
  const stuck = thrownBy(() => run(pool, 'spin', null, context));
  await said;
  const waiting = run(pool, 'where');
  context.abort(enough);
  await clock.advance(0);
  await stuck;
  expect(await waiting).toMatchObject({ isMainThread: false });
});

test('an idle thread ends after a while, and work in between keeps it', async () => {
  const clock = new VirtualClock();
  const pool = poolWith({ clock, idleMs: 1_000 });
  await run(pool, 'where');
  await clock.advance(999);
  await run(pool, 'where');
  await clock.advance(999);
  expect(pool.size).toBe(1);
  await clock.advance(1);
  await vi.waitFor(() => expect(pool.size).toBe(0));
});

test('work that comes while an idle thread is being ended gets another one', async () => {
  let timeIsOver = (): void => {};
  const clock = {
    monotonicMs: () => 0,
    after: (_ms: number, fn: () => void) => {
      timeIsOver = fn;
      return () => {};
    },
  };
  const pool = poolWith({ clock });
  const first = (await run(pool, 'where')) as { threadId: number };
  timeIsOver();
  // It was asked to end, and has not ended yet.
  expect(pool.size).toBe(1);
  const second = (await run(pool, 'where')) as { threadId: number };
  expect(second.threadId).not.toBe(first.threadId);
});

test('a pool that is closed ends what runs, and refuses what waits and what comes', async () => {
  const pool = poolWith({ max: 1 });
  const { context, said } = listening();
  const running = thrownBy(() => run(pool, 'deaf', null, context));
  await said;
  const waiting = thrownBy(() => run(pool, 'where'));
  pool.close();
  expect(await waiting).toMatchObject({ code: 'shutting_down' });
  expect(await running).toMatchObject({ code: 'thread_died' });
  expect(await thrownBy(() => run(pool, 'where'))).toMatchObject({ code: 'shutting_down' });
  expect(pool.size).toBe(0);
});
