import { expect, test } from 'vitest';
import { decide } from './decide.ts';
import type { JoinDecision, JoinTask } from './decide-join.ts';

const TASK: JoinTask = {
  join: { stage: 2, build: 0, probe: 1, thresholdBytes: 1_000, probeBytes: null },
  ...{ rowBytes: 10, tasks: 3, outputs: 3, layout: 1 },
  parts: [
    [
      { rows: 2, bytes: 50 },
      { rows: 0, bytes: 0 },
      { rows: 0, bytes: 0 },
    ],
    [
      { rows: 1, bytes: 40 },
      { rows: 0, bytes: 0 },
      { rows: 5, bytes: 60 },
    ],
  ],
  fragments: { broadcast: 'all', shuffled: 'partitions' },
};

const decided = (
  join: Partial<JoinTask['join']> = {},
  more: Partial<JoinTask> = {},
): { readonly decision: JoinDecision; readonly done: readonly string[] } => {
  const input = { ...TASK, ...more, join: { ...TASK.join, ...join } };
  const { result, done } = decide(input, 4);
  return {
    decision: JSON.parse(result) as JoinDecision,
    done: done.map(({ taskId }) => String(taskId)),
  };
};

test('a small side is read in full by every task, and the tasks of the other side end', () => {
  const { decision, done } = decided();
  expect(decision).toMatchObject({ broadcast: true, fragment: 'all', rows: 8, bytes: 150 });
  expect(decision).toMatchObject({ all: [0, 2], probe: [0], shuffled: [] });
  expect(done).toEqual(['s1.0', 's1.1', 's1.2']);
});

test('a side over the threshold is repartitioned, and the other side runs', () => {
  const { decision, done } = decided({ thresholdBytes: 149 });
  expect(decision).toMatchObject({ broadcast: false, fragment: 'partitions' });
  expect(decision).toMatchObject({ all: [], probe: [], shuffled: [0] });
  expect(done).toEqual([]);
});

test('rows that are encoded in next to nothing count as what they are in memory', () => {
  expect(decided({}, { rowBytes: 200 }).decision).toMatchObject({ broadcast: false, bytes: 1_600 });
});

test('it is not sent to every task if that is more than the other side would be', () => {
  expect(decided({ probeBytes: 150 }).decision.broadcast).toBe(true);
  expect(decided({ probeBytes: 149 }).decision.broadcast).toBe(false);
});

test('a stage without partitions to read has nothing to group', () => {
  const part = { rows: 3, bytes: 9, segments: [] };
  const input = {
    ...{ stage: 2, targetBytes: 64, processors: 4, outputs: 1, layout: 1, isBroadcast: true },
    inputs: [{ relation: 'stage0', stage: 0, producers: 1, maySplit: true }],
    parts: [[part, part]],
  };
  const { result, done } = decide(input, 4);
  expect(JSON.parse(result)).toMatchObject({
    ...{ groups: [[], []], reads: { stage0: [[], []] }, threads: 2, isBroadcast: true },
  });
  expect(done).toEqual([]);
});
