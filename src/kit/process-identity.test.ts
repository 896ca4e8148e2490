import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isProcessGone, ownProcess } from './process-identity.ts';

const own = ownProcess();

/** The name of a process with this number, as this one would be named. */
function named(pid: number, began = ''): string {
  const [host] = (own ?? '').split(':');
  return `${host}:${pid}:${began}`;
}

test.runIf(own !== null)('a process that runs is not gone', () => {
  expect(isProcessGone(own ?? '')).toBe(false);
});

test.runIf(own !== null)('a process that was killed is gone', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await once(child, 'spawn');
  const name = named(child.pid ?? 0);
  expect(isProcessGone(name)).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessGone(name)).toBe(true);
});

test.runIf(process.platform === 'linux')(
  'a number that was given to another process is gone',
  () => {
    expect(isProcessGone(named(process.pid, '1'))).toBe(true);
  },
);

test.each([
  '',
  'x',
  'elsewhere:1:1',
  `elsewhere:${2 ** 22}:7`,
  ':1:',
  'a:b:c',
  named(0),
  named(-1),
])('%o proves nothing', (name) => {
  expect(isProcessGone(name)).toBe(false);
});
