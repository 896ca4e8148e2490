import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { schedulesOf } from '../../scheduler/core/index.ts';
import type { FlowDeclaration } from '../../scheduler/core/index.ts';
import { type OwnSchedule, defineFlow, defineTask } from './index.ts';

const input = z.object({ shop: z.string() });
const run = (): number => 1;
const published = (of: object): unknown =>
  schedulesOf((of as { declaration: () => FlowDeclaration }).declaration());

test('a task and a flow publish the schedules that they declare', () => {
  const at = new Date('2030-01-01T00:00:00Z');
  const report = defineTask({
    name: 'report',
    input,
    schedule: { cron: '0 2 * * *', zone: 'Europe/Berlin', input: { shop: 'north' } },
    run,
  });
  const all = defineFlow({
    name: 'all',
    schedule: [
      { everyMs: 60_000, overlap: 'queue' },
      { id: 'once', at, maxRuns: 1 },
    ],
    build: ({ task }) => task('report', report, { shop: 'all' }),
  });
  expect(published(report)).toEqual([
    { cron: '0 2 * * *', zone: 'Europe/Berlin', input: { shop: 'north' } },
  ]);
  expect(published(all)).toEqual([
    { everyMs: 60_000, overlap: 'queue' },
    { id: 'once', at: '2030-01-01T00:00:00.000Z', maxRuns: 1 },
  ]);
  expect(published(defineTask({ name: 'plain', run }))).toEqual([]);
  expectTypeOf<OwnSchedule<{ shop: string }>>().toExtend<{ input: { shop: string } }>();
});

test.each<[string, unknown, string]>([
  ['not an object', 'daily', 'it must be an object'],
  ['an unknown field', { cron: '* * * * *', timeZone: 'UTC' }, "unknown option 'timeZone'"],
  ['no timing', { input: { shop: 'a' } }, 'it has no timing'],
  ['two timings', { cron: '* * * * *', everyMs: 500, input: { shop: 'a' } }, '/everyMs'],
  ['a pattern that is none', { cron: 'daily', input: { shop: 'a' } }, 'is not a cron pattern'],
  ['too often', { everyMs: 5, input: { shop: 'a' } }, '/everyMs'],
  ['an input that does not fit', { everyMs: 5_000, input: { shop: 7 } }, '/shop'],
  ['no input', { everyMs: 5_000 }, 'does not match its schema'],
  ['a wrong id', { id: 'a b', everyMs: 5_000, input: { shop: 'a' } }, 'is not a valid id'],
  [
    'more than a flow may have',
    Array.from({ length: 33 }, (_, at) => ({ id: `s${at}`, everyMs: 5_000, input: { shop: 'a' } })),
    'it has 33 schedules; the limit is 32',
  ],
  [
    'two of one id',
    [
      { everyMs: 5_000, input: { shop: 'a' } },
      { everyMs: 6_000, input: { shop: 'b' } },
    ],
    "two schedules have the id 'report'",
  ],
])('refuses %s when the task is defined', (_, schedule, message) => {
  const define = (): unknown =>
    defineTask({ name: 'report', input, schedule: schedule as never, run });
  expect(define).toThrow(message);
  expect(define).toThrow("Task 'report', 'schedule");
});

test('a schedule cannot start what waits for others of its kind', () => {
  const schedule = { everyMs: 5_000 };
  const debounce = { ms: 5 };
  expect(() => defineTask({ name: 'a', schedule, debounce, run })).toThrow('debounced');
  expect(() => defineTask({ name: 'a', schedule, batch: { max: 2, ms: 5 }, run })).toThrow('batch');
});
