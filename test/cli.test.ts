import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const bin = new URL('../bin/millrace.js', import.meta.url).pathname;

test('the demo survives the loss of a worker and of its leader, and gets the right answer', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'demo', '--json']);
  const result = JSON.parse(stdout) as { reassigned: number };
  expect(result).toMatchObject({
    tasks: 26,
    succeeded: 26,
    epochs: 2,
    isLateRefused: true,
    isRight: true,
    answer: 'the squares up to 24 add up to 4900',
  });
  expect(result.reassigned).toBeGreaterThan(0);
});

test.each([
  ['SIGINT', 'Millrace'],
  ['SIGTERM', 'One leader'],
  ['SIGINT', '1. '],
  ['SIGTERM', '2. '],
  ['SIGINT', '3. '],
] as const)(
  'one %s after the line "%s" ends the demo, and nothing stays',
  async (signal, start) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-interrupted-'));
    const child = spawn(process.execPath, [bin, 'demo'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
      // Should it hang, this ends it, and the code is not 130.
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    try {
      const ended = once(child, 'exit');
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith(start)) child.kill(signal);
      });
      expect(await ended).toEqual([130, null]);
      expect(readdirSync(folder).filter((name) => name.startsWith('millrace-demo-'))).toEqual([]);
    } finally {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

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
