/** `millrace demo` as people see it: real processes, one of them killed, and nothing left of them. */
import { expect, test } from 'vitest';
import { within } from '../rig/cluster/deadline.ts';
import type { TestProcess } from '../rig/cluster/process.ts';
import { LIMIT_MS, said, demoFolders, ended, start, workersAlive } from './demo-setup.ts';
import { until } from '../rig/until.ts';

/** So many that it is not over before it is interrupted. */
const MANY_ROWS = 2_000_000;

const heard = (demo: TestProcess, pattern: RegExp, from: 'stdout' | 'stderr') =>
  within(LIMIT_MS, demo.output.line(pattern, from), () => demo.output.text());

test.each([
  ['SIGINT', 'stdout', /^Millrace/],
  ['SIGTERM', 'stderr', /Starting a node/],
  ['SIGINT', 'stdout', /^A shop counts/],
  ['SIGINT', 'stdout', /^--- kill -9/],
] as const)('one %s after a line on %s like %s ends it, and nothing stays', async (...given) => {
  const [signal, from, line] = given;
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, line, from);
  demo.kill(signal);
  expect(await ended(demo)).toEqual({ code: 130, signal: null });
  expect(said(demo, 'stderr')).toMatch(/^All processes have ended and all files were removed\.$/m);
});

test('a second Ctrl-C ends it on the spot, and nothing stays', async () => {
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, /^A shop counts/, 'stdout');
  demo.kill('SIGINT');
  await heard(demo, /^Interrupted/, 'stderr');
  demo.kill('SIGINT');
  const exit = await within(LIMIT_MS, demo.exited, () => demo.output.text());
  expect(exit).toEqual({ code: 130, signal: null });
  // They were killed, not waited for.
  await until(() => Promise.resolve(workersAlive().length === 0), 'workers are left', LIMIT_MS);
  expect(demoFolders()).toEqual([]);
});

test('workers do not outlive a demo that was killed', async () => {
  const demo = start(['--rows', `${MANY_ROWS}`]);
  await heard(demo, /^A shop counts/, 'stdout');
  expect(workersAlive().length).toBeGreaterThan(0);
  demo.kill('SIGKILL', 'process');
  await demo.exited;
  await until(() => Promise.resolve(workersAlive().length === 0), 'workers are left', LIMIT_MS);
});
