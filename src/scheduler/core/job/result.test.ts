import { describe, expect, test } from 'vitest';
import type { TaskId, TaskNo } from '../ids.ts';
import { checkedSettings } from '../settings.ts';
import { parseJobDocument } from '../document/parse.ts';
import { resolveJobResult } from './result.ts';
import type { ResultTask } from './result.ts';

function task(id: string, result: unknown, more: Partial<ResultTask> = {}): ResultTask {
  return {
    id: id as TaskId,
    state: 'succeeded',
    parentNo: null,
    dependedOn: false,
    result: result === null ? null : JSON.stringify(result),
    ...more,
  };
}

describe('the result of a job', () => {
  test('is that of its only last task', () => {
    const tasks = [task('a', 1, { dependedOn: true }), task('b', { x: 2 })];
    expect(resolveJobResult(null, tasks)).toEqual({ x: 2 });
  });

  test('is an object when it has several last tasks', () => {
    const tasks = [task('a', 1), task('b', null), task('__proto__', 3)];
    const result = resolveJobResult(null, tasks) as object;
    expect(Object.entries(result)).toEqual([
      ['a', 1],
      ['b', null],
      ['__proto__', 3],
    ]);
  });

  test('does not count tasks that others have added', () => {
    const tasks = [task('a', 'all'), task('a.0', 'part', { parentNo: 0 as TaskNo })];
    expect(resolveJobResult(null, tasks)).toBe('all');
  });

  test('has null for a task that did not run', () => {
    expect(resolveJobResult(null, [task('a', null, { state: 'skipped' })])).toBe(null);
  });

  test('is what the document says, over any of its tasks', () => {
    const output = JSON.stringify({
      sum: { $from: 'a', path: '/n' },
      all: [{ $from: 'b' }],
      fixed: 'x',
    });
    const tasks = [task('a', { n: 5 }, { dependedOn: true }), task('b', [1])];
    expect(resolveJobResult(output, tasks)).toEqual({ sum: 5, all: [[1]], fixed: 'x' });
  });

  test('has null where the document names what is not there', () => {
    const output = JSON.stringify([
      { $from: 'a', path: '/no' },
      { $from: 'b' },
      { $from: 'ghost' },
    ]);
    const tasks = [task('a', {}), task('b', null, { state: 'skipped' })];
    expect(resolveJobResult(output, tasks)).toEqual([null, null, null]);
  });
});

describe('the output of a document', () => {
  const parse = (output: unknown): string | null =>
    parseJobDocument({ output, tasks: [{ id: 'a', executor: 'echo' }] }, checkedSettings()).output;

  test('may name any task of it', () => {
    expect(parse({ n: { $from: 'a' } })).toBe('{"n":{"$from":"a"}}');
    expect(parse(undefined)).toBe(null);
    expect(parse(null)).toBe(null);
  });

  test('may not name another', () => {
    expect(() => parse([{ $from: 'aa' }])).toThrow(
      "/output/0/$from: 'aa' is not a task of this job. Did you mean 'a'?",
    );
  });
});
