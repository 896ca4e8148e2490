import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { MillraceError } from '../core/index.ts';
import type { Json } from '../core/index.ts';
import { VirtualClock, settled } from '../testing/virtual-clock.ts';
import { builtIns } from './builtin.ts';
import type { TaskContext } from './executor.ts';
import { classifyFailure } from './failure.ts';
import { loadModule } from './modules.ts';
import { ExecutorRegistry } from './registry.ts';
import { jsonText } from './result.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-modules-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

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

test('a module registers what it exports by name, as the default and in lists, each once', async () => {
  const path = file(
    'all.mjs',
    `const task = (name) => ({ kind: 'millrace.task', name, run: () => name });
     export const one = task('one');
     export default task('two');
     export const more = [one, task('three')];
     export const other = { kind: 'something else' };
     export const text = 'not a task';`,
  );
  const registry = new ExecutorRegistry();
  expect((await loadModule(path, registry)).toSorted()).toEqual(['one', 'three', 'two']);
  expect(registry.names).toEqual(['one', 'three', 'two']);
  expect(registry.get('three')?.run(null, {} as TaskContext)).toBe('three');
});

test.each([
  ['no-file.mjs', null, 'There is no file'],
  ['nothing.mjs', 'export const x = 1;', 'exports no task'],
  ['broken.mjs', 'export const = ;', 'cannot be loaded'],
  ['throws.mjs', 'throw new Error("on purpose");', 'cannot be loaded: on purpose'],
  ['half.mjs', "export const t = { kind: 'millrace.task', name: 't' };", 't of'],
  [
    'name.mjs',
    "export const t = { kind: 'millrace.task', name: 'a/b', run() {} };",
    'defines a task with the name "a/b"',
  ],
  [
    'echo.mjs',
    "export const t = { kind: 'millrace.task', name: 'echo', run() {} };",
    'defines the task echo, and so does Millrace.',
  ],
])('a module that is no good is told by its name: %s', async (name, text, message) => {
  const path = text === null ? join(folder, name) : file(name, text);
  const registry = new ExecutorRegistry();
  registry.add({ name: 'echo', run: (input) => input }, 'Millrace');
  const loading = loadModule(path, registry);
  await expect(loading).rejects.toThrow(message);
  await expect(loading).rejects.toThrow(name);
  await expect(loading).rejects.toMatchObject({ code: 'bad_input' });
});

test('what is expected and missing is named, with a hint at what may be meant', () => {
  const registry = new ExecutorRegistry();
  registry.add({ name: 'train', run: () => null }, 'Millrace');
  expect(() => registry.expect(['train'])).not.toThrow();
  expect(() => registry.expect(['trains', 'train', 'other'])).toThrow(
    /not registered on this worker: trains.*train.*other/,
  );
});
