/** Compilers that many users still have. npm fetches them. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { MISTAKES, complaints } from './mistakes.ts';

test('TypeScript 5.9 shows what is wrong with each of the commonest mistakes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-typescript-'));
  try {
    const install = ['install', '--no-audit', '--no-fund', '--prefix', folder, 'typescript@5.9.3'];
    await promisify(execFile)('npm', install, { cwd: folder });
    const said = await complaints(join(folder, 'node_modules/typescript/bin/tsc'));
    for (const [at, [, , says]] of MISTAKES.entries()) expect(said[at]).toMatch(says);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 300_000);
