import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const bin = new URL('../bin/millrace.js', import.meta.url).pathname;

test('the demo survives the loss of a worker and of its leader, and gets the right answer', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'demo', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    tasks: 26,
    succeeded: 26,
    epochs: 2,
    isRight: true,
    answer: 'the squares up to 24 add up to 4900',
  });
});

test('wrong use leaves with 2', async () => {
  const child = spawn(process.execPath, [bin, 'nonsense'], { stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([2, null]);
});

test('a reader that stops reading is not an error', async () => {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const complaints: string[] = [];
  child.stderr.on('data', (chunk) => complaints.push(String(chunk)));
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(complaints).toEqual([]);
});
