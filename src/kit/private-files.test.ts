import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeToOthers, makePrivateFolder } from './private-files.ts';

let folder: string;
let mask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-private-'));
  mask = process.umask(0o022);
});
afterEach(() => {
  process.umask(mask);
  rmSync(folder, { recursive: true });
});
const mode = (path: string): number => statSync(path).mode & 0o777;

test('a created folder is private to its user', () => {
  makePrivateFolder(join(folder, 'a/b'));
  expect([mode(join(folder, 'a')), mode(join(folder, 'a/b'))]).toEqual([0o700, 0o700]);
});

test.skipIf(process.platform !== 'linux')(
  'a place where no folder can be made is an error, not an endless loop',
  () => {
    expect(() => makePrivateFolder('/proc/nothing/a/b')).toThrow('ENOENT');
    writeFileSync(join(folder, 'file'), '');
    expect(() => makePrivateFolder(join(folder, 'file'))).toThrow('EEXIST');
    expect(() => makePrivateFolder(join(folder, 'file', 'a'))).toThrow(/ENOTDIR|EEXIST/);
  },
);

test('an existing data folder is made private; a folder of another name is not changed', () => {
  for (const name of ['.millrace', 'shared']) mkdirSync(join(folder, name), { mode: 0o755 });
  makePrivateFolder(join(folder, '.millrace'));
  makePrivateFolder(join(folder, 'shared'));
  expect(mode(join(folder, '.millrace'))).toBe(0o700);
  expect(mode(join(folder, 'shared'))).toBe(0o755);
});

test('a file is made private, and a missing one is not created', () => {
  const file = join(folder, 'store');
  closeToOthers(file);
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  closeToOthers(file);
  expect(mode(file)).toBe(0o600);
});
