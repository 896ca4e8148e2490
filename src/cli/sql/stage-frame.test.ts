import { expect, test } from 'vitest';
import type { JobId } from '../../scheduler/core/index.ts';
import type { QueryShape, StageShape } from '../../scheduler/contract/index.ts';
import { stageFrame } from './stage-frame.ts';

const stage: StageShape = {
  id: 0,
  title: 'scan sales',
  state: 'succeeded',
  output: 'hash(1)',
  inputs: [],
  tasks: { total: 4, queued: 0, running: 0, succeeded: 4, failed: 0, recomputed: 0 },
  estimate: { rows: null, bytes: null },
  rowsIn: 9_000,
  rowsOut: 1_200,
  bytesOut: 35_000,
  batches: 4,
  fetchedBytes: 0,
  earlyBytes: 0,
  spilledBytes: 0,
  elapsedMs: 120,
  workMs: 400,
  partitionBytes: [],
  grouping: null,
  filters: [],
  filteredRows: null,
  join: null,
};
const query: QueryShape = {
  id: 'q-1' as JobId,
  state: 'running',
  sql: 'select 1',
  error: null,
  columns: [],
  single: null,
  partitions: 4,
  stages: [
    stage,
    {
      ...stage,
      ...{ id: 1, title: 'aggregate', state: 'running', elapsedMs: 30, bytesOut: 0, rowsOut: 0 },
      tasks: { total: 4, queued: 1, running: 1, succeeded: 2, failed: 1, recomputed: 1 },
      spilledBytes: 2 ** 21,
    },
    {
      ...stage,
      ...{ id: 2, title: 'sort', state: 'waiting', elapsedMs: null, bytesOut: 0, rowsOut: 0 },
      tasks: { total: 1, queued: 1, running: 0, succeeded: 0, failed: 0, recomputed: 0 },
    },
  ],
  waiting: null,
  submittedAt: '2026-11-15T06:00:00.000Z',
  startedAt: null,
  finishedAt: null,
  expiresAt: null,
};
const options = {
  ...{ columns: 120, rows: 24, hasColour: false, isUnicode: true, tick: 0 },
  nowMs: Date.parse(query.submittedAt) + 1_500,
};

test('each stage has a line with its bar and its figures', () => {
  expect(stageFrame(query, options)).toEqual([
    'query  running  1s  ███████████░░░░░  6 of 9 tasks done',
    '  ✓  0 scan sales  ████████████████  4/4  1,200 rows  34.2 KiB  120ms',
    '  ⠋  1 aggregate   ████████░░░░░░░░  2/4      0 rows  30ms  1 failed  1 recomputed  2.0 MiB spilled',
    '  ·  2 sort        ░░░░░░░░░░░░░░░░  0/1',
  ]);
});

test('on a narrow terminal bars and bytes make room', () => {
  const lines = stageFrame(query, { ...options, columns: 50 });
  expect(lines[1]).toBe('  ✓  0 scan sales  4/4  1,200 rows  120ms');
});

test('of more stages than there are rows those that are over are left out first', () => {
  const stages = Array.from({ length: 30 }, (_, id) => ({
    ...stage,
    id,
    state: id < 25 ? ('succeeded' as const) : ('waiting' as const),
  }));
  const lines = stageFrame({ ...query, stages }, { ...options, rows: 12 });
  expect(lines).toHaveLength(11);
  expect(lines.at(-1)).toContain(' 29 scan sales');
});

test('a query that waits for admission shows its position', () => {
  const why = 'waits for admission: 2 queries are before it, 1 of 1 run';
  const waiting = { position: 2, why };
  const [head] = stageFrame({ ...query, state: 'queued', waiting }, options);
  expect(head).toContain(why);
});
