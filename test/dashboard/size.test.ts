/** What a browser has to load, held to a budget. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../dist/dashboard');
const kilobytes = (...names: readonly string[]): number =>
  names.reduce(
    (sum, name) => sum + gzipSync(readFileSync(join(FOLDER, name)), { level: 9 }).length / 1024,
    0,
  );

test('the first load has at most 60 kB, gzipped', () => {
  expect(kilobytes('index.html', 'main.js', 'main.css', 'icon.svg')).toBeLessThanOrEqual(60);
});

test('the other views add at most 20 kB, a graph 17 kB, the SQL editor 124 kB', () => {
  expect(kilobytes('more-views.js')).toBeLessThanOrEqual(20);
  expect(kilobytes('graph-layout.js')).toBeLessThanOrEqual(17);
  expect(kilobytes('sql-editor.js')).toBeLessThanOrEqual(124);
});

test('the files name no other server', () => {
  for (const name of [
    'index.html',
    'main.js',
    'main.css',
    'more-views.js',
    'graph-layout.js',
    'sql-editor.js',
  ]) {
    const addresses = readFileSync(join(FOLDER, name), 'utf8').match(/https?:\/\/[\w.-]+/g) ?? [];
    expect({ name, foreign: addresses.filter((each) => each !== 'http://www.w3.org') }).toEqual({
      name,
      foreign: [],
    });
  }
});
