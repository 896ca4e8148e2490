import { expect, test } from 'vitest';
import type { Slot } from '../task/table.ts';
import { StageTimes } from './stage-times.ts';

function stageOf(tasks: number, ...tookMs: readonly number[]): StageTimes {
  const stage = new StageTimes();
  for (let at = 1; at <= tasks; at += 1) stage.slots.push(at as Slot);
  for (const each of tookMs) stage.add(each);
  return stage;
}

test('the median is known when half of the tasks are done, in whatever order they end', () => {
  expect(stageOf(5, 10, 20).medianMs).toBeNull();
  expect(stageOf(5, 30, 10, 20).medianMs).toBe(20);
  expect(stageOf(5, 40, 30, 10, 20).medianMs).toBe(20);
  expect(stageOf(4, 30, 10).medianMs).toBe(10);
});

test('a task without siblings has nobody to be compared with', () => {
  expect(stageOf(1, 10).medianMs).toBeNull();
});

test('tasks that had nothing to do are not waited for', () => {
  const stage = stageOf(8, 10, 20);
  expect(stage.medianMs).toBeNull();
  stage.idle = 4;
  expect(stage.medianMs).toBe(10);
  stage.idle = 7;
  expect(stage.medianMs).toBeNull();
});
