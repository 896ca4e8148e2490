import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TextFile } from './tidy/rule.ts';
import { rules } from './tidy/rules.ts';

const root = join(import.meta.dirname, '..');

/** What git tracks or would track. */
function textFiles(): TextFile[] {
  const list = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], { cwd: root });
  return [...new Set(String(list).split('\0').filter(Boolean))]
    .filter((path) => existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => !text.includes('\0'));
}

const files = textFiles();

test('there are files to look at', () => {
  expect(files.map((file) => file.path)).toContain('src/scheduler/core/index.ts');
});

test.each(rules.map((rule) => [rule.name, rule] as const))('%s', (_name, rule) => {
  const found = rule.find(files).map(({ path, line, message }) => `${path}:${line} ${message}`);
  expect(found).toEqual([]);
});
