import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyLines } from './copy-lines.ts';
import { jsonLines } from './splittable-text.ts';

let folder: string;
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-cut-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (content: string): string => {
  files += 1;
  const path = join(folder, `${files}.json`);
  writeFileSync(path, content);
  return path;
};

const linesFrom = async (path: string, from: number, to: number): Promise<string> => {
  files += 1;
  const as = join(folder, `${files}.txt`);
  await copyLines(path, as, { from, to });
  return readFileSync(as, 'utf8');
};

test('a line is copied by the range in which it begins', async () => {
  const path = written('ab\ncd\n\nefghij\nk');
  expect(await linesFrom(path, 0, 3)).toBe('ab\n');
  expect(await linesFrom(path, 0, 4)).toBe('ab\ncd\n');
  expect(await linesFrom(path, 3, 6)).toBe('cd\n');
  expect(await linesFrom(path, 4, 6)).toBe('');
  expect(await linesFrom(path, 4, 8)).toBe('\nefghij\n');
  expect(await linesFrom(path, 8, 14)).toBe('');
  expect(await linesFrom(path, 14, 15)).toBe('k');
});

test('ranges that split a file have all of its lines, once and in order', async () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'ö', '\r', ' '), maxLength: 12 });
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.boolean(), cuts, async (lines, isEnded, shares) => {
      const content = lines.join('\n') + (isEnded ? '\n' : '');
      const path = written(content);
      const size = Buffer.byteLength(content);
      const inner = shares.map((share) => Math.round(share * size)).toSorted((a, b) => a - b);
      const bounds = [0, ...inner, size];
      const parts: string[] = [];
      for (const [at, from] of bounds.slice(0, -1).entries())
        parts.push(await linesFrom(path, from, bounds[at + 1] as number));
      expect(parts.join('')).toBe(content);
      for (const [at, part] of parts.entries())
        if (part !== '') expect(parts.slice(0, at).join('')).toMatch(/^$|\n$/);
    }),
    { numRuns: 60 },
  );
});

test('files with an object on their first line can be split at lines', async () => {
  const object = '{"a": [1, {"b": "x\\ny"}]}';
  expect((await jsonLines([written(`${object}\n${object}\r\n`), written(object)], []))?.rows).toBe(
    3,
  );
  expect((await jsonLines([written('')], []))?.rows).toBe(0);
  for (const other of ['[{"a": 1}]\n', '{"a": 1} {"a": 2}\n', '{"a":\n1}\n', '\n{}\n', '5\n'])
    expect([other, await jsonLines([written(other)], [])]).toEqual([other, null]);
  expect(await jsonLines([written(object), written('[]')], [])).toBeNull();
  expect(await jsonLines([written(`{"a": "${'x'.repeat(2 ** 21)}"}\n`)], [])).toBeNull();
  expect(await jsonLines(['data.json.gz'], [])).toBeNull();
});
