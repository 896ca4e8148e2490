import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { TestProcess } from './process.ts';

/** Runs a line of JavaScript in the place of Millrace. */
function run(code: string, environment: Record<string, string> = {}): TestProcess {
  return TestProcess.start([code], { script: '--eval', environment });
}

const FOR_EVER = 'setInterval(() => {}, 1000);';

/** What the system says of a process: T is stopped, Z has ended; null when there is none. */
async function stateOf(pid: number): Promise<string | null> {
  const asked = promisify(execFile)('ps', ['-o', 'state=', '-p', `${pid}`]);
  return asked.then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
}

/** Asks the system until the answer is right: processes change without telling. */
async function eventually(
  pid: number,
  isRight: (state: string | null) => boolean,
): Promise<string | null> {
  for (let tries = 0; tries < 500; tries += 1) {
    const state = await stateOf(pid);
    if (isRight(state)) return state;
  }
  return expect.fail(`process ${pid} is still ${await stateOf(pid)}`);
}

const isStopped = (state: string | null): boolean => state?.startsWith('T') === true;
const isGone = (state: string | null): boolean => state === null || state.startsWith('Z');

test('a process gets its environment and is read line by line', async () => {
  const started = run(`console.log('ready ' + process.env.PLACE); ${FOR_EVER}`, { PLACE: 'here' });
  expect((await started.line(/^ready (\w+)$/))[1]).toBe('here');
  // A line that was said before anybody asked counts as well.
  expect((await started.line(/^ready/))[0]).toBe('ready');
  expect(started.isRunning).toBe(true);
});

test('a line that never comes is an error that shows what came instead', async () => {
  const started = run(`console.log('something else'); console.error('a hint'); ${FOR_EVER}`);
  await started.output.line(/hint/, 'stderr');
  const failure = started.line(/^ready/, 50);
  await expect(failure).rejects.toThrow(/Not within 50 ms: a line[^]*something else[^]*a hint/);
});

test('a process that ends early is an error at once, with its last words', async () => {
  const started = run(`console.error('no such database'); process.exitCode = 3;`);
  await expect(started.line(/^ready/)).rejects.toThrow(/ended \(3\)[^]*no such database/);
  expect(await started.exited).toEqual({ code: 3, signal: null });
});

test('of a talkative process the last lines are kept', async () => {
  const started = run(`for (let at = 1; at <= 2000; at += 1) console.log('line ' + at);`);
  await started.output.line(/^line 2000$/);
  expect(started.output.lines).toHaveLength(500);
  expect(started.output.text()).toMatch(/^\.\.\. 1500 lines before\nstdout: line 1501\n/);
});

test('a stop asks the process, which may end in order', async () => {
  const started = run(
    `process.on('SIGTERM', () => { console.log('bye'); process.exit(0); });
     console.log('ready'); ${FOR_EVER}`,
  );
  await started.line(/^ready/);
  expect(await started.stop()).toEqual({ code: 0, signal: null });
});

test('a pause stops the process with its children, and killing it ends them all', async () => {
  const started = run(
    `const child = require('node:child_process').spawn(process.execPath, ['--eval', '${FOR_EVER}']);
     console.log('child ' + child.pid); ${FOR_EVER}`,
  );
  const child = Number((await started.line(/^child (\d+)$/))[1]);
  started.pause();
  for (const pid of [started.pid, child]) await eventually(pid, isStopped);
  started.resume();
  for (const pid of [started.pid, child]) await eventually(pid, (state) => !isStopped(state));
  started.pause();
  await started.crash();
  expect(await started.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isGone(await eventually(child, isGone))).toBe(true);
});

test('nothing outlives a test runner that is killed', async () => {
  const parent = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      '--eval',
      `
      const { guard } = await import('./test/rig/cluster/guard.ts');
      const { spawn } = await import('node:child_process');
      const child = spawn(process.execPath, ['--eval', '${FOR_EVER}'], { detached: true });
      guard(child.pid);
      console.log(child.pid);
      ${FOR_EVER}`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const child = Number(String((await once(parent.stdout, 'data'))[0]));
  expect(await stateOf(child)).not.toBeNull();
  parent.kill('SIGKILL');
  expect(isGone(await eventually(child, isGone))).toBe(true);
});
