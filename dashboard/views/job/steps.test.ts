import { expect, test } from 'vitest';
import type { EventShape } from '../../../src/scheduler/contract/index.ts';
import { sentSignals, shownSteps } from './steps.ts';

test('steps of waits are shown by what they are, and notes of the worker are left out', () => {
  const names = ['charge', '$sleep/nap', '$signal/go#2', '$until/go', '$job/a/b', '$at/signal/go'];
  const steps = [...names, '$trace', '$constructor/x'].map((name) => ({ name, result: null }));
  expect(shownSteps(steps).map(({ title, tag }) => [title, tag])).toEqual([
    ['charge', null],
    ['nap', 'sleep'],
    ['go#2', 'signal'],
    ['go', 'time limit'],
    ['a/b', 'call'],
  ]);
});

test('signals are those that the events of the job tell of', () => {
  const event = (seq: number, kind: string, detail: unknown): EventShape =>
    ({ seq, kind, at: '2026-11-18T00:00:00.000Z', detail }) as unknown as EventShape;
  const events = [
    event(1, 'job.created', null),
    event(2, 'job.signalled', { name: 'go', id: 's-1', takenBy: 'ask' }),
    event(3, 'job.signalled', { name: 'stop', id: 's-2', takenBy: null }),
    event(4, 'job.signalled', null),
  ];
  expect(sentSignals(events).map(({ name, takenBy }) => [name, takenBy])).toEqual([
    ['go', 'ask'],
    ['stop', null],
  ]);
});
