import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HISTORY_MAX, historyFile, joinLines, readHistory, writeHistory } from './history.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-history-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('lines come back newest first, from a file for its user alone', () => {
  const file = historyFile({ XDG_STATE_HOME: folder() });
  expect(readHistory(file)).toEqual([]);
  expect(writeHistory(file, ['second', 'first'])).toBeNull();
  expect(readHistory(file)).toEqual(['second', 'first']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  chmodSync(file, 0o644);
  writeHistory(
    file,
    Array.from({ length: HISTORY_MAX + 5 }, (_, at) => `${at}`),
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readHistory(file)).toHaveLength(HISTORY_MAX);
  expect(readHistory(file)[0]).toBe('0');
});

test('a place that cannot be written does not throw', () => {
  const file = join(folder(), 'file');
  writeFileSync(file, '');
  expect(writeHistory(join(file, 'sql_history'), ['x'])).not.toBeNull();
});

test('the lines of a statement become one, unless a comment is among them', () => {
  const history = ['  2;', 'select 1,', 'before'];
  joinLines(history, 2);
  expect(history).toEqual(['select 1, 2;', 'before']);
  const commented = ['2;', 'select 1, -- one'];
  joinLines(commented, 2);
  expect(commented).toEqual(['2;', 'select 1, -- one']);
});
