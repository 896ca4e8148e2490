import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('every benchmark runs at a tiny size', { timeout: 120_000 }, async () => {
  const node = ['--expose-gc', '--import', 'tsx', 'bench/main.ts', 'all', '--quick'];
  const { stdout } = await promisify(execFile)(process.execPath, node);
  expect(stdout).toContain('memory a queued task');
  expect(stdout).toContain('postgres / hand-written');
});
