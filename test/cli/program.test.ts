import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const bin = new URL('../../bin/millrace.js', import.meta.url).pathname;

test('wrong use leaves with 2', async () => {
  const child = spawn(process.execPath, [bin, 'nonsense'], { stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([2, null]);
});

test('a closed stdout is not an error', async () => {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const complaints: string[] = [];
  child.stderr.on('data', (chunk) => complaints.push(String(chunk)));
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(complaints).toEqual([]);
});

test('a closed stderr changes nothing', async () => {
  const child = spawn(process.execPath, [bin, 'nonsense'], { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.destroy();
  expect(await once(child, 'exit')).toEqual([2, null]);
});

test.skipIf(!existsSync('/dev/full'))('a full disk is reported without a stack', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [bin, 'schema'], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const complaint = text(child.stderr ?? Readable.from([]));
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(await complaint).toMatch(/^millrace: The output cannot be written: ENOSPC.*\n$/);
});
