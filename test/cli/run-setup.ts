/** `millrace run` as people use it: real processes, to their end or to Ctrl-C. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi, afterAll, beforeEach } from 'vitest';
import { appearance } from '../rig/cluster/appearance.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';

export const LIMIT_MS = 60_000;
export const folder = mkdtempSync(join(tmpdir(), 'millrace-runs-'));

/** Whatever a run makes, it makes here. */
export const temporary = join(folder, 'tmp');

export function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

export const start = (...args: readonly string[]) =>
  TestProcess.start(['run', ...args], { environment: { TMPDIR: temporary } });

export const lines = ({ output }: TestProcess, from: 'stdout' | 'stderr'): string =>
  output.lines
    .filter((line) => line.from === from)
    .map(({ text }) => text)
    .join('\n');

export async function ended(run: TestProcess) {
  const exit = await within(LIMIT_MS, run.exited, () => run.output.text());
  expect(leftovers()).toEqual([]);
  return exit;
}
export const handlers = file(
  'handlers.mjs',
  `import { renameSync, writeFileSync } from 'node:fs';
   const task = (name, run) => ({ kind: 'millrace.task', name, run });
   // Whoever sees the file sees all of it.
   const mark = (path) => {
     writeFileSync(path + '.new', String(process.pid));
     renameSync(path + '.new', path);
   };
   export const double = task('double', (n) => { console.log('a handler prints'); return n * 2; });
   export const fail = task('fail', () => { throw new Error('the printer is on fire'); });
   export const wait = task('wait', (path, { signal }) => new Promise((_, no) => {
     mark(path);
     signal.addEventListener('abort', () => no(signal.reason));
   }));
   export const deaf = task('deaf', (path) => { mark(path); return new Promise(() => {}); });`,
);

/** Started, with a handler at work; answers the process id of its worker. */
export async function atWork(
  executor: string,
): Promise<{ readonly run: TestProcess; readonly worker: number }> {
  const mark = join(folder, `mark-${executor}`);
  rmSync(mark, { force: true });
  const tasks = [
    { id: 'a', executor, input: mark },
    { id: 'b', executor: 'echo', dependsOn: ['a'] },
  ];
  const document = file(`${executor}.json`, JSON.stringify({ tasks }));
  const run = start(document, '--module', handlers);
  const over = run.exited.then(() => expect.fail(run.output.text()));
  const started = run.output.line(/ started +a /, 'stderr');
  // The word may be out before the handler is at work.
  const begun = Promise.race([Promise.all([started, appearance(mark)]), over]);
  await within(LIMIT_MS, begun, () => run.output.text());
  return { run, worker: Number(readFileSync(mark, 'utf8')) };
}

/** A process that is cut off leaves its token, which nobody else can read, to be swept by the next one. */
export function leftovers(): readonly string[] {
  return readdirSync(temporary).filter((name) => /^millrace-(?!local-)/.test(name));
}

vi.setConfig({ testTimeout: 120_000 });
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
beforeEach(() => {
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary);
});
