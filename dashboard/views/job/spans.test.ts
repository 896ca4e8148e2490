import { expect, test } from 'vitest';
import type { EventShape, TaskShape } from '../../../src/scheduler/contract/index.ts';
import { SpanBook, attemptsIn } from './spans.ts';
import { timeScale } from './time-scale.ts';

let seq = 0;
const event = (kind: string, second: number, more: object = {}): EventShape =>
  ({
    seq: (seq += 1),
    at: new Date(second * 1_000).toISOString(),
    kind,
    job: 'j',
    task: 'a',
    node: 'w',
    run: 1,
    attempt: 1,
    fence: 1,
    detail: null,
    ...more,
  }) as unknown as EventShape;

const task = {
  id: 'a',
  state: 'succeeded',
  attempt: 2,
  node: 'w',
  error: null,
  waiting: null,
  queuedAt: null,
  startedAt: null,
  finishedAt: null,
} as unknown as TaskShape;

test('attempts, back-off and waits of a task follow each other without a gap', () => {
  const book = new SpanBook();
  book.add([
    event('queued', 0),
    event('assigned', 1),
    event('started', 1),
    event('retried', 3, { detail: { message: 'refused' } }),
    event('queued', 4),
    event('assigned', 5, { attempt: 2 }),
    event('suspended', 6, { attempt: 2, detail: { until: 'time' } }),
    event('queued', 60),
    event('assigned', 60, { attempt: 2 }),
    event('completed', 61, { attempt: 2 }),
  ]);
  const spans = book.of(task);
  expect(
    spans.map(({ kind, fromMs, toMs, outcome }) => [
      kind,
      fromMs / 1_000,
      (toMs ?? 0) / 1_000,
      outcome,
    ]),
  ).toEqual([
    ['queued', 0, 1, null],
    ['running', 1, 3, 'failed'],
    ['backoff', 3, 4, null],
    ['queued', 4, 5, null],
    ['running', 5, 6, 'suspended'],
    ['sleeping', 6, 60, null],
    ['queued', 60, 60, null],
    ['running', 60, 61, 'succeeded'],
  ]);
  expect(attemptsIn(spans).map(({ attempt, note }) => [attempt, note])).toEqual([
    [1, 'refused'],
    [2, null],
  ]);
});

test('what a node gives back counts neither as a failure nor as an attempt', () => {
  const book = new SpanBook();
  book.add([
    event('assigned', 0),
    event('released', 1),
    event('assigned', 2),
    event('reassigned', 3, { detail: { why: 'the session of w has ended' } }),
    event('assigned', 4),
  ]);
  const runs = book.of(task).filter(({ kind }) => kind === 'running');
  expect(runs.map(({ outcome }) => outcome)).toEqual(['returned', 'lost', null]);
  expect(attemptsIn(book.of(task))).toHaveLength(2);
});

test('a task whose events are past retention is shown by its own times', () => {
  const known = {
    ...task,
    queuedAt: new Date(0).toISOString(),
    startedAt: new Date(1_000).toISOString(),
    finishedAt: new Date(2_000).toISOString(),
  };
  expect(new SpanBook().of(known).map(({ kind }) => kind)).toEqual(['queued', 'running']);
});

test('a long sleep is cut short, and moments keep their order', () => {
  const book = new SpanBook();
  book.add([
    event('assigned', 0),
    event('suspended', 1, { detail: { until: 'time' } }),
    event('assigned', 86_400),
    event('completed', 86_401),
  ]);
  const scale = timeScale(book.of(task), 0, 86_401_000);
  expect(scale.breaks).toHaveLength(1);
  const places = [0, 500, 1_000, 3_600_000, 86_400_000, 86_401_000].map((ms) => scale.at(ms));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect([places[0], places.at(-1)]).toEqual([0, 1]);
  expect(scale.at(1_000)).toBeGreaterThan(0.4);
});

test('a task waits until its node has started it, and runs from then on', () => {
  const book = new SpanBook();
  book.add([event('queued', 0), event('assigned', 1), event('started', 3), event('completed', 4)]);
  const spans = book.of(task).map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs]);
  expect(spans).toEqual([
    ['queued', 0, 3_000],
    ['running', 3_000, 4_000],
  ]);
});

test('a task that has ended does not wait for the rest of its events', () => {
  const book = new SpanBook();
  book.add([event('queued', 0)]);
  const at = (second: number): string => new Date(second * 1_000).toISOString();
  const ended = { ...task, queuedAt: at(0), startedAt: at(5), finishedAt: at(6) };
  expect(book.of(ended).map(({ kind, toMs }) => [kind, toMs])).toEqual([
    ['queued', 5_000],
    ['running', 6_000],
  ]);
  expect(book.of(task).map(({ kind, toMs }) => [kind, toMs])).toEqual([['queued', null]]);
});
