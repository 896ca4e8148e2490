import { expect, test } from 'vitest';
import type { EventView, JobId, TaskRow } from '../../scheduler/core/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { attemptsOf } from './task-attempts.ts';

const JOB = 'job' as JobId;

type Log = Pick<Store, 'events' | 'lastSeq'>;

/** Kind, node and fence of each event of the task. */
function logOf(...entries: readonly (readonly [string, string, number])[]): Log {
  const events = entries.map(
    ([kind, nodeId, fence], at) =>
      ({
        seq: at + 1,
        at,
        kind,
        nodeId,
        fence,
        run: 1,
        attempt: 1,
        taskNo: 1,
        detail: null,
      }) as unknown as EventView,
  );
  return {
    lastSeq: () => Promise.resolve({ firstSeq: 1, lastSeq: events.length }),
    events: () => Promise.resolve(events),
  } as unknown as Log;
}

function rowOf(row: Partial<Record<keyof TaskRow, unknown>>): TaskRow {
  const usual = { taskNo: 1, run: 1, attempt: 1, fence: 1, state: 'succeeded', error: null };
  return { ...usual, startedAt: 0, finishedAt: 9, nodeId: 'w1', ...row } as unknown as TaskRow;
}

const shownOf = async (log: Log, row: TaskRow, executor = 'sql.fragment'): Promise<unknown> =>
  (await attemptsOf(log, 0, JOB, row, executor)).map(({ node, outcome, speculative }) => [
    node,
    outcome,
    speculative,
  ]);

const RACE = [
  ['assigned', 'w1', 1],
  ['duplicated', 'w2', 2],
] as const;

test('of two concurrent attempts both are shown, whichever has succeeded', async () => {
  const second = logOf(...RACE, ['discarded', 'w1', 1], ['completed', 'w2', 2]);
  expect(await shownOf(second, rowOf({ fence: 2, nodeId: 'w2' }))).toEqual([
    ['w1', 'discarded', false],
    ['w2', 'succeeded', true],
  ]);
  const first = logOf(...RACE, ['discarded', 'w2', 2], ['completed', 'w1', 1]);
  expect(await shownOf(first, rowOf({}))).toEqual([
    ['w1', 'succeeded', false],
    ['w2', 'discarded', true],
  ]);
});

test('both are shown as running while they run', async () => {
  expect(await shownOf(logOf(...RACE), rowOf({ state: 'running', finishedAt: null }))).toEqual([
    ['w1', null, false],
    ['w2', null, true],
  ]);
});

test('a second attempt that a new leader does not know of is discarded when the task has ended', async () => {
  expect(await shownOf(logOf(...RACE, ['completed', 'w1', 1]), rowOf({}))).toEqual([
    ['w1', 'succeeded', false],
    ['w2', 'discarded', true],
  ]);
});

test('the log of any other task is not searched for second attempts', async () => {
  const unread = { events: () => Promise.reject(new Error('it was read')) } as unknown as Log;
  expect(await shownOf(unread, rowOf({}), 'echo')).toEqual([['w1', 'succeeded', false]]);
});
