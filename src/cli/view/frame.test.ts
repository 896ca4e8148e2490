import { describe, expect, test } from 'vitest';
import type { TaskId, TaskState } from '../../scheduler/core/index.ts';
import { frame, type FrameOptions } from './frame.ts';
import type { JobPicture, TaskProgress } from './job-progress.ts';
import { textWidth } from './text-width.ts';

const options: FrameOptions = {
  columns: 100,
  rows: 24,
  hasColour: false,
  isUnicode: true,
  nowMs: 10_000,
  tick: 0,
};

function task(id: string, state: TaskState, more: Partial<TaskProgress> = {}): TaskProgress {
  const blank = { depth: 0, attempt: 1, node: null, progress: 0, note: null, error: null };
  const rest = { waiting: null, startedMs: null, finishedMs: null };
  return { id: id as TaskId, state, ...blank, ...rest, ...more };
}

const picture = (tasks: readonly TaskProgress[], more: Partial<JobPicture> = {}): JobPicture => ({
  name: 'nightly',
  state: 'running',
  createdMs: 0,
  finishedMs: null,
  tasks,
  ...more,
});

const graph = picture([
  task('fetch', 'succeeded', { node: 'w-1', startedMs: 1_000, finishedMs: 2_200 }),
  task('render', 'running', {
    ...{ node: 'w-2', startedMs: 6_600, progress: 0.5, note: 'page 3 of 6', attempt: 2 },
  }),
  task('render.0', 'ready', { depth: 1, waiting: 'no node fits; the nearest, w-1, lacks render' }),
  task('mail', 'failed', {
    ...{ node: 'w-1', startedMs: 1_000, finishedMs: 1_120, error: 'http_500: it broke' },
  }),
  task('sum', 'blocked', { waiting: 'waits for render' }),
]);

describe('a graph that fits', () => {
  test('has a line for each task: state, time, node, progress, attempt and why it waits', () => {
    expect(frame(graph, options)).toEqual([
      'nightly  running  10s  ████████░░░░░░░░  1 of 5 tasks done',
      '  ✓  fetch          1s  w-1',
      '  ⠋  render         3s  w-2  ████████░░░░░░░░  50 %  attempt 2  page 3 of 6',
      '  ○    render.0              no node fits; the nearest, w-1, lacks render',
      '  ✗  mail        120ms  w-1  http_500: it broke',
      '  ·  sum                     waits for render',
    ]);
  });

  test('turns its wheel and counts its time', () => {
    const later = frame(graph, { ...options, tick: 3, nowMs: 71_000 });
    expect(later[0]).toMatch(/^nightly {2}running {2}1m 11s/);
    expect(later[2]).toMatch(/^ {2}⠸ {2}render +1m 4s/);
  });

  test('shows no bar when it is over', () => {
    const over = picture([task('a', 'succeeded', { startedMs: 0, finishedMs: 5 })], {
      state: 'succeeded',
      finishedMs: 1_500,
    });
    expect(frame(over, options)).toEqual([
      'nightly  succeeded  1s  1 of 1 task done',
      '  ✓  a  5ms',
    ]);
  });

  test('speaks plain ASCII where nothing else is understood', () => {
    const lines = frame(graph, { ...options, isUnicode: false });
    expect(lines.join('\n')).toMatch(/^[\x20-\x7E\n]*$/);
    expect(lines[2]).toContain('########--------');
  });

  test('has colours only where they are wanted', () => {
    expect(frame(graph, options).join('')).not.toContain('\u001B');
    expect(frame(graph, { ...options, hasColour: true })[1]).toContain('\u001B[32m');
  });

  test('cannot be moved about by a name', () => {
    const evil = picture([task('a', 'failed', { error: 'x\u001B[2Jy\nz' })], { name: 'b\u0007' });
    expect(frame(evil, options).join('|')).toMatch(/^b\uFFFD.*x\uFFFD\[2Jy\uFFFDz$/);
  });
});

describe('whatever the size of the terminal', () => {
  test.each([200, 80, 60, 40, 20, 5, 1])('no line is wider than %i columns', (columns) => {
    const wide = picture([
      ...graph.tasks,
      task('漢字'.repeat(20), 'running', { note: '漢'.repeat(60) }),
    ]);
    for (const text of frame(wide, { ...options, columns })) {
      expect(textWidth(text)).toBeLessThanOrEqual(Math.max(1, columns - 1));
    }
  });

  test.each([30, 10, 5, 3, 2, 1])('there are less lines than %i rows', (rows) => {
    expect(frame(graph, { ...options, rows }).length).toBeLessThanOrEqual(Math.max(1, rows - 1));
  });

  test('the node goes first when it gets narrow', () => {
    const narrow = frame(graph, { ...options, columns: 50 });
    expect(narrow[1]).toBe('  ✓  fetch          1s');
    expect(narrow[2]).toContain('50 %');
  });
});

describe('a graph with more tasks than rows', () => {
  const many = picture([
    ...Array.from({ length: 500 }, (_, at) => task(`done-${at}`, 'succeeded', { finishedMs: 1 })),
    ...Array.from({ length: 4 }, (_, at) => task(`run-${at}`, 'running', { startedMs: 1 })),
    ...Array.from({ length: 90 }, (_, at) => task(`wait-${at}`, 'ready')),
    ...Array.from({ length: 3 }, (_, at) => task(`bad-${at}`, 'failed', { error: 'e: no' })),
  ]);

  test('becomes counts, then failures, what runs and what waits, and what is left out', () => {
    const lines = frame(many, { ...options, rows: 14 });
    expect(lines).toHaveLength(13);
    expect(lines[1]).toBe('✗ 3 failed  ⠋ 4 running  ○ 90 ready  ✓ 500 succeeded');
    expect(lines.slice(2, 5).join()).toMatch(/bad-0.*bad-1.*bad-2/);
    expect(lines.slice(5, 9).join()).toMatch(/run-0.*run-3/);
    expect(lines[9]).toContain('wait-0');
    expect(lines.at(-1)).toBe('... and 587 more tasks');
  });

  test('failures leave room for what runs', () => {
    const broken = picture([
      ...Array.from({ length: 100 }, (_, at) => task(`bad-${at}`, 'failed')),
      ...Array.from({ length: 3 }, (_, at) => task(`run-${at}`, 'running', { startedMs: 1 })),
    ]);
    const text = frame(broken, { ...options, rows: 12 }).join('\n');
    expect(text).toContain('run-2');
    expect(text).toContain('bad-4');
  });
});
