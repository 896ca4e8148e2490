import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import type { TaskContext } from '../executor.ts';
import { ExecutorRegistry } from '../registry.ts';
import { loadDefinitions, loadModule } from './load.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-modules-')));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const TASK = `const task = (name) => ({ kind: 'millrace.task', name, run: () => name });`;

test('a module registers what it exports by name, as the default and in lists, each once', async () => {
  const path = file(
    'all.mjs',
    `${TASK}
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
  // The engine gives the same objects again, and they are no second definition.
  await loadModule(path, registry);
  expect(registry.names).toEqual(['one', 'three', 'two']);
});

test('a flow brings its tasks, the default one comes first, and an operator is offered by name', async () => {
  const path = file(
    'flows.mjs',
    `${TASK}
     const flow = (name, ...tasks) => ({ kind: 'millrace.flow', name, tasks, toDocument: () => ({}) });
     const shared = task('shared');
     export const a = flow('a', shared, task('of-a'));
     export default flow('main', shared);
     export const fancy = { kind: 'millrace.operator', name: 'fancy_join', output: { a: 'INTEGER' }, run() {} };`,
  );
  const { tasks, flows, operators } = await loadDefinitions(path);
  expect(flows.map(({ name }) => name)).toEqual(['main', 'a']);
  expect(tasks.map(({ name }) => name)).toEqual(['shared', 'of-a']);
  expect(operators.map(({ name }) => name)).toEqual(['fancy_join']);
  const registry = new ExecutorRegistry();
  await loadModule(path, registry);
  await loadModule(path, registry);
  expect(registry.names).toEqual(['of-a', 'operator:fancy_join', 'shared']);
  expect(registry.get('fancy_join')).toBeUndefined();
  expect(registry.operator('fancy_join')).toMatchObject({ module: pathToFileURL(path).href });
  expect(() => registry.expect(['fancy_join', 'shared'])).not.toThrow();
  const other = file(
    'other.mjs',
    `export const b = { kind: 'millrace.operator', name: 'fancy_join', output: {}, run() {} };`,
  );
  await expect(loadModule(other, registry)).rejects.toThrow(
    `the module ${other} defines the operator fancy_join, and so does the module ${path}.`,
  );
});

test('a CommonJS module is read as well', async () => {
  const path = file(
    'old.cjs',
    `${TASK} const exported = { a: task('a') }; module.exports = exported;`,
  );
  expect((await loadDefinitions(path)).tasks.map(({ name }) => name)).toEqual(['a']);
});

test('two modules with one name for two tasks are refused, and both are named', async () => {
  const registry = new ExecutorRegistry();
  await loadModule(file('first.mjs', `${TASK} export default task('same');`), registry);
  const second = file('second.mjs', `${TASK} export default task('same');`);
  await expect(loadModule(second, registry)).rejects.toThrow(/second\.mjs.*same.*first\.mjs/);
});

test.each([
  ['no-file.mjs', null, 'does not exist'],
  ['nothing.mjs', 'export const x = 1;', 'exports no task, flow or operator'],
  ['throws.mjs', '\n\nthrow new Error("on purpose");', /on purpose \(.*throws\.mjs:3:7\)/],
  ['lost.mjs', "import './not-there.mjs';", /not-there\.mjs/],
  ['half.mjs', "export const t = { kind: 'millrace.task', name: 't' };", 'not a complete task'],
  ['flow.mjs', "export const t = { kind: 'millrace.flow', name: 't' };", 'not a complete flow'],
  [
    'inner.mjs',
    "export const f = { kind: 'millrace.flow', name: 'f', tasks: [{ kind: 'millrace.task' }], toDocument() {} };",
    'The export f.tasks of',
  ],
  ['operator.mjs', "export const t = { kind: 'millrace.operator' };", 'not a complete operator'],
  [
    'name.mjs',
    "export const t = { kind: 'millrace.task', name: 'a/b', run() {} };",
    'defines a task with the invalid name "a/b"',
  ],
  [
    'thread.mjs',
    "export const t = { kind: 'millrace.task', name: 't', thread: './x.js', run() {} };",
    'is not a module file',
  ],
  [
    'echo.mjs',
    "export const t = { kind: 'millrace.task', name: 'echo', run() {} };",
    'defines the task echo, and so does Millrace.',
  ],
])('a module that is not valid is reported by its name: %s', async (name, text, message) => {
  const path = text === null ? join(folder, name) : file(name, text);
  const registry = new ExecutorRegistry();
  registry.add({ name: 'echo', run: (input) => input }, 'Millrace');
  const loading = loadModule(path, registry);
  await expect(loading).rejects.toThrow(message);
  await expect(loading).rejects.toThrow(name);
  await expect(loading).rejects.toMatchObject({ code: 'bad_input' });
});

test('a syntax error is reported with its file, and nothing of the module has run', async () => {
  const broken = file('deep.mjs', 'const a = 1;\nconst a = 2;\n');
  const effect = join(folder, 'effect');
  const path = file(
    'imports-deep.mjs',
    `import { writeFileSync } from 'node:fs'; import './deep.mjs'; writeFileSync('${effect}', '');`,
  );
  await expect(loadDefinitions(path)).rejects.toThrow(`(${broken}:2)`);
  await expect(loadDefinitions(effect)).rejects.toThrow('does not exist');
});

test('a mistake in JavaScript is reported with its line', async () => {
  const path = file('broken.mjs', 'export const a = 1;\nexport const = ;\n');
  expect(await inPlainNode(path)).toMatch(
    /^bad_input The module .*broken\.mjs cannot be loaded: SyntaxError: .*broken\.mjs:2\)$/,
  );
});

/** An engine as users have it: that of the tests reads files, and TypeScript, in its own way. */
async function inPlainNode(path: string): Promise<string> {
  const index = fileURLToPath(
    new URL('../../../../dist/tasks/executors/index.js', import.meta.url),
  );
  const script = `
    const { loadDefinitions, ExecutorRegistry } = await import(${JSON.stringify(index)});
    try {
      const { tasks } = await loadDefinitions(${JSON.stringify(path)});
      const registry = new ExecutorRegistry();
      for (const task of tasks) registry.add(task, 'x');
      const context = { signal: new AbortController().signal, log: {} };
      const results = [];
      for (const { name } of tasks) results.push(await registry.get(name).run({ n: 1 }, context));
      console.log(JSON.stringify(results));
    } catch (error) {
      console.log(error.code + ' ' + error.message);
    }`;
  const main = file('main.mjs', script);
  const { stdout } = await promisify(execFile)(process.execPath, [main], { cwd: folder });
  return stdout.trim();
}

test('TypeScript is loaded with what it imports, also on a thread, wherever it lies', async () => {
  file('number.mts', 'export const number: number = 41;');
  const path = file(
    'typed.ts',
    `import { isMainThread } from 'node:worker_threads';
     import { pathToFileURL } from 'node:url';
     import { number } from './number.mts';
     enum Kind { Sum = 'sum' }
     const here = pathToFileURL(${JSON.stringify(join(folder, 'typed.ts'))}).href;
     const run = ({ n }: { n: number }) => [Kind.Sum, n + number, isMainThread];
     export const a = { kind: 'millrace.task' as const, name: 'a', run };
     export const b = { kind: 'millrace.task' as const, name: 'b', thread: here, run };`,
  );
  expect(JSON.parse(await inPlainNode(path))).toEqual([
    ['sum', 42, true],
    ['sum', 42, false],
  ]);
});

test('a mistake in TypeScript is reported with its line', async () => {
  const path = file('typo.ts', 'const a: number = 1;\nexport const = a;\n');
  expect(await inPlainNode(path)).toMatch(
    /^bad_input The module .*typo\.ts cannot be loaded.*\n.*typo\.ts:2:13/,
  );
});
