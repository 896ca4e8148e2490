import { expect, test } from 'vitest';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';
import { testContext, thrownBy } from '../../../test/rig/task-context.ts';
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

test('sleep takes as long as requested, and ends at once when it is aborted', async () => {
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

const BETTER = 'throw an Error that says what went wrong';

test.each([
  [undefined, `the handler threw undefined; ${BETTER}`],
  [null, `the handler threw null; ${BETTER}`],
  [7, 'the handler threw 7'],
  ['', `the handler threw an empty text; ${BETTER}`],
  [Symbol('x'), `the handler threw a symbol; ${BETTER}`],
  [() => 1, `the handler threw a function; ${BETTER}`],
  [{ a: 1 }, 'the handler threw {"a":1}'],
  [{ name: 'Odd' }, 'Odd'],
  [1n, 'the handler threw 1'],
])('whatever is thrown can be reported: %s', (thrown, message) => {
  expect(classifyFailure(thrown)).toEqual({
    error: { code: 'error', message },
    failure: 'retryable',
  });
});

test('a thrown object whose fields throw is still reported', () => {
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

test('a thrown value that cannot be inspected is still reported', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  for (const thrown of [proxy, cycle]) {
    expect(classifyFailure(thrown)).toEqual({
      error: {
        code: 'error',
        message: `the handler threw something that cannot be shown; ${BETTER}`,
      },
      failure: 'retryable',
    });
  }
});

test('undefined is null, and what JSON cannot hold is refused by name', () => {
  expect(jsonText(undefined)).toEqual({ isJson: true, text: 'null' });
  expect(jsonText({ a: undefined, b: [undefined] })).toEqual({
    isJson: true,
    text: '{"b":[null]}',
  });
  expect(faultOf(Symbol('x'))).toBe('is a symbol, which is not JSON; use plain data');
  expect(faultOf({ deep: [1n] })).toBe(
    'has a bigint at /deep/0, which is not JSON; make it a text',
  );
  const cycle = { 'a/b': [{ self: {} }] };
  cycle['a/b'][0]!.self = cycle;
  expect(faultOf(cycle)).toBe(
    'has a circular reference at /a~1b/0/self, which is not JSON; use plain data',
  );
  expect(faultOf({ toJSON: () => undefined })).toBe('has no JSON representation');
});

const faultOf = (value: unknown): string | null => {
  const text = jsonText(value);
  return text.isJson ? null : text.fault;
};

test.each([
  [{ a: [1, Number.NaN] }, 'has NaN at /a/1, which is not JSON; use null or text for it'],
  [-Infinity, 'is -Infinity, which is not JSON; use null or text for it'],
  [{ m: new Map([[1, 2]]) }, 'has a Map at /m,'],
  [new Set([1]), 'is a Set, which is not JSON; make it a list or a plain object'],
  [[1, 2].values(), 'is an Array Iterator,'],
  [{ p: Promise.resolve(1) }, 'has a Promise at /p, which is not JSON; await it'],
  [[new TypeError('x')], 'has an Error at /0, which is not JSON; use its message'],
  [/x/, 'is a RegExp,'],
  [new Uint8Array(2), 'is a Uint8Array, which is not JSON; make it a list or base64 text'],
  [new ArrayBuffer(2), 'is an ArrayBuffer,'],
  [{ at: new Date(Number.NaN) }, 'has an invalid date at /at,'],
  [{ s: Symbol('x') }, 'has a symbol at /s,'],
  [[() => 1], 'has a function at /0,'],
  [{ toJSON: () => ({ n: Number.NaN }) }, 'has NaN at /n,'],
])('nothing is lost silently: %s', (value, fault) => {
  expect(faultOf(value)).toContain(fault);
});

test('values with toJSON are converted, as the types say', () => {
  class Money {
    readonly cents = 5;
    readonly add = (): void => {};
  }
  const value = { at: new Date(0), money: new Money(), raw: Buffer.from('a'), none: undefined };
  expect(jsonText(value)).toEqual({
    isJson: true,
    text: '{"at":"1970-01-01T00:00:00.000Z","money":{"cents":5},"raw":{"type":"Buffer","data":[97]}}',
  });
  expect(jsonText(Object.assign(new Map(), { toJSON: () => [1] }))).toEqual({
    isJson: true,
    text: '[1]',
  });
});

test('a value that throws when it is read is refused with its reason', () => {
  const value = {
    get a(): number {
      throw new Error('no look');
    },
  };
  expect(faultOf(value)).toBe('is not JSON: no look');
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(faultOf(deep)).toBe('is not JSON: it is nested too deeply');
});

test('command and container are registered only where they are allowed', () => {
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
