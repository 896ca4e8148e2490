import { expect, test } from 'vitest';
import type { Job } from '../job/job.ts';
import { taskNo } from '../ids.ts';
import type { TaskId } from '../ids.ts';
import type { Requirement } from '../queue/requirement.ts';
import { TaskTable } from './table.ts';
import type { TaskFacts } from './table.ts';

const FACTS: TaskFacts = {
  job: {} as unknown as Job,
  no: taskNo(0),
  id: 'a' as TaskId,
  priority: 2,
  parent: null,
  isAwaited: false,
  isAdded: false,
  requirement: {} as unknown as Requirement,
  options: {} as unknown as TaskFacts['options'],
  limits: [],
  key: null,
};

test('no stamp comes twice after more of them than 32 bits can count', () => {
  const tasks = new TaskTable(2 ** 32 - 2);
  const slots = [tasks.add(FACTS), tasks.add(FACTS), tasks.add(FACTS)];
  const stamps = slots.map((slot) => tasks.stamp.get(slot));
  expect(new Set(stamps).size).toBe(3);
  const first = slots[0]!;
  tasks.free(first);
  expect(stamps).not.toContain(tasks.stamp.get(first));
});
