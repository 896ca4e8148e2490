import { mkdtempSync, rmSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { temporaryData } from './data-folder.ts';

let parent: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'millrace-folder-test-'));
  vi.stubEnv('TMPDIR', parent);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(parent, { recursive: true, force: true });
});

test('workers that remove the empty folder do not disturb those that start', async () => {
  const folder = await temporaryData();
  const found: string[] = [];
  const starting = async (): Promise<void> => {
    for (let round = 0; round < 50; round += 1) found.push(await temporaryData());
  };
  const ending = async (): Promise<void> => {
    while (found.length < 100) await rmdir(folder).catch(() => {});
  };
  await Promise.all([starting(), starting(), ending()]);
  expect(found).toHaveLength(100);
});
