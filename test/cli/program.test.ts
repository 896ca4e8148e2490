import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

const bin = new URL('../../bin/millrace.js', import.meta.url).pathname;

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
