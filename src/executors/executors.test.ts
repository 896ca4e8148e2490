import { expect, test } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { Json } from '../core/index.ts';
import { VirtualClock, settled } from '../testing/virtual-clock.ts';
import { testContext, thrownBy } from '../../test/fixture/task-context.ts';
import { builtIns } from './builtin.ts';
import type { BuiltInOptions } from './builtin.ts';
import type { TaskContext } from './executor.ts';
import { classifyFailure } from './failure.ts';
import { ExecutorRegistry } from './registry.ts';
import { jsonText } from './result.ts';

function runBuiltIn(name: string, input: Json, signal: AbortSignal, clock: VirtualClock): unknown {
  const executor = builtIns(clock).find((each) => each.name === name);
  return executor?.run(input, { signal } as TaskContext);
}

test('echo returns its input', () => {
  const { signal } = new AbortController();
  expect(runBuiltIn('echo', { a: [1, null] }, signal, new VirtualClock())).toEqual({
    a: [1, null],
  });
});

test('sleep takes as long as it is told, and ends at once when it is aborted', async () => {
  const clock = new VirtualClock();
  const control = new AbortController();
  let isOver = false;
  const first = Promise.resolve(runBuiltIn('sleep', { ms: 100 }, control.signal, clock));
  const done = first.then(() => (isOver = true));
  await clock.advance(99);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await done;

  const second = runBuiltIn('sleep', { ms: 1e9 }, control.signal, clock);
  const reason = new MillraceError({ code: 'superseded', what: 'enough' });
  control.abort(reason);
  await expect(second).rejects.toBe(reason);
  await expect(runBuiltIn('sleep', { ms: 1e9 }, control.signal, clock)).rejects.toBe(reason);
  await settled();
});

test.each([null, 5, [1], { ms: '5' }, { ms: -1 }])('sleep refuses %j for good', (input) => {
  const { signal } = new AbortController();
  let thrown: unknown;
  try {
    runBuiltIn('sleep', input, signal, new VirtualClock());
  } catch (error) {
    thrown = error;
  }
  expect(classifyFailure(thrown)).toMatchObject({ failure: 'fatal' });
});

test.each([
  [undefined, 'the handler threw undefined'],
  [null, 'the handler threw null'],
  [7, 'the handler threw 7'],
  ['', 'the handler threw an empty text'],
  [Symbol('x'), 'the handler threw symbol'],
  [{ a: 1 }, 'the handler threw {"a":1}'],
  [{ name: 'Odd' }, 'Odd'],
  [1n, 'the handler threw something that cannot be shown'],
])('whatever is thrown can be told: %s', (thrown, message) => {
  expect(classifyFailure(thrown)).toEqual({
    error: { code: 'error', message },
    failure: 'retryable',
  });
});

test('an object whose fields throw is still read', () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('do not touch');
      },
    },
  );
  expect(classifyFailure(hostile)).toMatchObject({ failure: 'retryable' });
});

test('undefined is null, and what JSON cannot hold is refused by name', () => {
  expect(jsonText(undefined)).toEqual({ isJson: true, text: 'null' });
  expect(jsonText({ a: undefined, b: [undefined] })).toEqual({
    isJson: true,
    text: '{"b":[null]}',
  });
  expect(jsonText(Symbol('x'))).toEqual({ isJson: false, fault: 'is a symbol, which is not JSON' });
  expect(jsonText({ deep: 1n })).toMatchObject({ isJson: false });
});

test('command and container are offered only where they are allowed', () => {
  const names = (options: BuiltInOptions): readonly string[] =>
    builtIns(new VirtualClock(), options).map(({ name }) => name);
  const always = ['echo', 'sleep', 'http', 'aggregate', 'map'];
  expect(names({})).toEqual(always);
  expect(names({ allowCommand: [], allowContainer: undefined })).toEqual(always);
  expect(names({ allowCommand: ['git'], allowContainer: 'podman' })).toEqual([
    ...always,
    'command',
    'container',
  ]);
});

test('a private host is called only where that is allowed', async () => {
  const run = (options: BuiltInOptions): unknown =>
    builtIns(new VirtualClock(), options)
      .find(({ name }) => name === 'http')
      ?.run({ url: 'http://127.0.0.1:9/' }, testContext());
  expect(await thrownBy(() => run({}))).toMatchObject({ code: 'refused_address' });
  expect(await thrownBy(() => run({ allowPrivateHttp: true }))).toMatchObject({ code: 'network' });
});

test('what is expected and missing is named, with a hint at what may be meant', () => {
  const registry = new ExecutorRegistry();
  registry.add({ name: 'train', run: () => null }, 'Millrace');
  expect(() => registry.expect(['train'])).not.toThrow();
  expect(() => registry.expect(['trains', 'train', 'other'])).toThrow(
    /not registered on this worker: trains.*train.*other/,
  );
});
