import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { QueryFolder } from './query-folder.ts';

test('folders of ended processes of this machine are removed, and nothing else', async () => {
  const data = mkdtempSync(join(tmpdir(), 'millrace-folder-'));
  onTestFinished(() => rmSync(data, { recursive: true }));
  const folder = new QueryFolder(data);
  await folder.sweep();
  // No process has a number like this.
  const names = [`${hostname()}~4194305~x`, 'elsewhere~4194305~x', `${hostname()}~1~x`, 'notes'];
  for (const name of names) mkdirSync(join(data, 'queries', name, 'rows'), { recursive: true });
  mkdirSync(folder.path);
  await folder.sweep();
  const left = readdirSync(join(data, 'queries')).map((name) => join(data, 'queries', name));
  expect(left.toSorted()).toEqual(
    [...names.slice(1).map((name) => join(data, 'queries', name)), folder.path].toSorted(),
  );
  await folder.remove();
  expect(existsSync(folder.path)).toBe(false);
  for (const name of names) rmSync(join(data, 'queries', name), { recursive: true, force: true });
  await folder.remove();
  expect(readdirSync(data)).toEqual([]);
});
