import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Pins, readFault } from './pin.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-pins-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

test('accepts an unchanged file', async () => {
  const pins = new Pins();
  const files = await pins.pinAll([file('same', 'abc'), file('empty', '')], signal);
  await pins.check(files, { signal });
  await new Pins().check(files, { signal });
  expect(files.map(({ bytes }) => bytes)).toEqual([3, 0]);
});

test('detects a file that is longer or was modified', async () => {
  const path = file('longer', 'abc');
  const pins = new Pins();
  const files = await pins.pinAll([path], signal);
  writeFileSync(path, 'abcd');
  await expect(pins.check(files, { signal })).rejects.toMatchObject({
    code: 'table_changed',
    what: expect.stringContaining('it had 3 bytes and has 4') as string,
  });
});

test('detects other bytes of the same length and time by the footer', async () => {
  const path = file('sly', 'abc');
  const pins = new Pins();
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime);
  const files = await pins.pinAll([path], signal);
  writeFileSync(path, 'xyz');
  utimesSync(path, atime, mtime);
  await expect(pins.check(files, { signal })).rejects.toThrow('its footer is different');
});

test('detects a file that is gone', async () => {
  const path = file('gone', 'abc');
  const pins = new Pins();
  const files = await pins.pinAll([path], signal);
  rmSync(path);
  await expect(pins.check(files, { signal })).rejects.toThrow('it does not exist');
});

test('refuses a link to a file outside of the roots on the worker too', async () => {
  const root = join(folder, 'root');
  mkdirSync(root);
  const outside = file('outside', 'secret');
  const link = join(root, 'inside');
  symlinkSync(outside, link);
  const pins = new Pins();
  const files = await pins.pinAll([link], signal);
  await expect(pins.check(files, { signal, roots: [root] })).rejects.toMatchObject({
    code: 'path_refused',
  });
  await pins.check(files, { signal, roots: [folder] });
});

test('refuses a folder in place of a file at once', async () => {
  await expect(new Pins().pinAll([folder], signal)).rejects.toSatisfy(
    (thrown) => readFault(thrown) === 'it is not a file',
  );
});

test('stops reading after an abort', async () => {
  const gone = AbortSignal.abort(new Error('cancelled'));
  await expect(new Pins().pinAll([file('late', 'x')], gone)).rejects.toThrow('cancelled');
});
