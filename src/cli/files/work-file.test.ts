import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { defaultSettings, MillraceError } from '../../scheduler/core/index.ts';
import { readWork } from './work-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-work-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const PARTS = `
  const task = (name) => ({ kind: 'millrace.task', name, run: (input) => input });
  const flow = (name) => ({
    kind: 'millrace.flow', name, tasks: [task(name + '-step')],
    toDocument: (input) => ({ name, tasks: [{ id: 'a', executor: name + '-step', input: input ?? 'none' }] }),
  });`;

const work = (path: string, given: { input?: string; flow?: string } = {}) =>
  readWork(
    path,
    { input: undefined, flow: undefined, ...given, settings: defaultSettings },
    signal,
  );

async function nameOf(path: string, flow?: string): Promise<unknown> {
  const { document } = await work(path, flow === undefined ? {} : { flow });
  return (document as { readonly name: unknown }).name;
}

test('the default export is meant, whatever else there is', async () => {
  const module = file(
    'default.mjs',
    `${PARTS} export const a = flow('a'); export default flow('b');`,
  );
  expect(await nameOf(module)).toBe('b');
  expect(await nameOf(module, 'a')).toBe('a');
  const task = file('task.mjs', `${PARTS} export const a = flow('a'); export default task('t');`);
  expect(await nameOf(task)).toBe('t');
});

test('without a default, the only flow is meant, or else the only task', async () => {
  const flow = file('one.mjs', `${PARTS} export const f = flow('f'); export const t = task('t');`);
  expect(await nameOf(flow)).toBe('f');
  const task = file('task-only.mjs', `${PARTS} export const t = task('my task');`);
  expect(await work(task, { input: '[1]' })).toMatchObject({
    document: { name: 'my task', tasks: [{ id: 'task', executor: 'my task', input: [1] }] },
    modules: [task],
  });
});

test('TypeScript is read as well, and the input may stand in a file', async () => {
  const module = file(
    'typed.ts',
    `${PARTS.replaceAll('(name)', '(name: string)').replace('(input) => input', '(input: unknown) => input').replace('(input) => ({', '(input: unknown) => ({')} export default flow('typed');`,
  );
  const input = file('input.yaml', 'order: A-7\n');
  expect((await work(module, { input: `@${input}` })).document).toMatchObject({
    tasks: [{ input: { order: 'A-7' } }],
  });
  expect((await work(module)).document).toMatchObject({ tasks: [{ input: 'none' }] });
});

test.each([
  ['several.mjs', `export const x = flow('x'); export const y = flow('y');`, {}, '--flow x'],
  ['wrong.mjs', `export const order = flow('order');`, { flow: 'ordr' }, "Did you mean 'order'?"],
  ['none.mjs', `export const n = 1;`, {}, 'exports no flow and no task'],
  ['text.mjs', `export default flow('x');`, { input: 'yes' }, 'A JSON string needs its own quotes'],
])('%s is refused in a sentence', async (name, text, given, sentence) => {
  const refused = work(file(name, PARTS + text), given);
  await expect(refused).rejects.toThrow(MillraceError);
  await expect(refused).rejects.toThrow(sentence);
});

test('an input that the flow refuses is reported with the next step', async () => {
  const module = file(
    'strict.mjs',
    `import { MillraceError } from '${new URL('../../scheduler/core/index.ts', import.meta.url).href}';
     export default { kind: 'millrace.flow', name: 'strict', tasks: [], toDocument() {
       throw new MillraceError({ code: 'bad_input', what: 'The order is missing.', path: '/order' });
     } };`,
  );
  await expect(work(module)).rejects.toThrow('/order: The order is missing. Give it with --input');
  await expect(work(module, { input: '{}' })).rejects.toThrow(/^\/order: The order is missing\.$/);
});

test('an error of another copy of the package is known by its name', async () => {
  const module = file(
    'copy.mjs',
    `class MillraceError extends Error {
       name = 'MillraceError'; code = 'bad_input'; what = 'The order is missing.'; path = '/order';
     }
     export default { kind: 'millrace.flow', name: 'copy', tasks: [], toDocument() {
       throw new MillraceError('whatever');
     } };`,
  );
  const refused = work(module, { input: '{}' });
  await expect(refused).rejects.toThrow(MillraceError);
  await expect(refused).rejects.toThrow('/order: The order is missing.');
});

test('a flow that makes an invalid document is reported as such', async () => {
  const module = file(
    'broken.mjs',
    `export default { kind: 'millrace.flow', name: 'broken', tasks: [], toDocument: () => ({ tasks: [] }) };`,
  );
  await expect(work(module)).rejects.toThrow(
    'The document of broken was rejected: The list is empty.',
  );
});

test('a job document has no input and no flows', async () => {
  const document = file('job.yaml', 'tasks: [{id: a, executor: echo}]');
  await expect(work(document, { input: '1' })).rejects.toThrow('--input applies to modules');
  await expect(work(document, { flow: 'x' })).rejects.toThrow('--flow applies to modules');
  const two = file('two.yaml', 'tasks: []\n---\ntasks: []\n');
  await expect(work(two)).rejects.toThrow('contains several documents');
});
