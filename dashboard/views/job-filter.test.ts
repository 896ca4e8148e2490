import { expect, test } from 'vitest';
import type { JobSummary } from '../../src/scheduler/contract/index.ts';
import { fits, isPast, parseFilter, serverPart, withState } from './job-filter.ts';

const termsOf = (text: string) => {
  const parsed = parseFilter(text);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.terms;
};

test.each([
  ['state:failed', { state: 'failed' }],
  ['state:failed name:nightly', { state: 'failed', name: 'nightly' }],
  ['name:"two words"', { name: 'two words' }],
  ['name:"a \\"b\\""', { name: 'a "b"' }],
  ['nightly', { name: 'nightly' }],
  ['order/*', {}],
  ['state:failed,running', {}],
  ['label.team=billing label.tier:gold', { labels: ['team:billing', 'tier:gold'] }],
  ['label.note="two words" state:failed', { state: 'failed', labels: ['note:two words'] }],
  ['a=b', { name: 'a=b' }],
  ['', {}],
])('%s asks the server for %j', (text, expected) => {
  expect(serverPart(termsOf(text))).toEqual(expected);
});

test.each([
  ['state:wrong', "'wrong' is not a state. Use queued, running, succeeded, failed, cancelled."],
  ['stat:failed', "'stat' is not known. Use state, name, id, schedule, age, took or label.KEY."],
  ['label.a=1 label.a=2', "'label.a=2': there is a label already."],
  ['label.a>1', "'label.a' takes an equals sign: label.a=1."],
  ['age:5m', "'age' compares with a time: age>5m, age<30s."],
  ['age>five', "'age' compares with a time: age>5m, age<30s."],
  ['state:failed state:queued', "'state:queued': there is a state already."],
  ['name:"open', 'Cannot read'],
  ['constructor:x', "'constructor' is not known."],
])('says what is wrong with %s', (text, message) => {
  const parsed = parseFilter(text);
  expect(parsed.ok ? '' : parsed.message).toContain(message);
});

const at = Date.parse('2026-11-16T12:00:00Z');
const job = {
  id: 'x',
  name: 'order/17',
  state: 'running',
  scheduleId: null,
  createdAt: '2026-11-16T11:50:00Z',
  startedAt: '2026-11-16T11:59:50Z',
  finishedAt: null,
} as unknown as JobSummary;

test.each([
  ['age>5m', true],
  ['age<5m', false],
  ['age>5m age<1h', true],
  ['took>5s', true],
  ['took>1m', false],
  ['order/*', true],
  ['state:queued,running', true],
  ['schedule:nightly', false],
])('a job ten minutes old that has run for ten seconds fits %s: %s', (text, expected) => {
  expect(fits(job, termsOf(text), at)).toBe(expected);
});

test('behind a job that is too old nothing is young enough', () => {
  expect(isPast(job, termsOf('age<5m'), at)).toBe(true);
  expect(isPast(job, termsOf('age<1h'), at)).toBe(false);
});

test('a state is added, replaced and removed, and other terms stay', () => {
  expect(withState('name:a', 'failed')).toBe('state:failed name:a');
  expect(withState('state:failed name:a', 'queued')).toBe('state:queued name:a');
  expect(withState('state:failed name:a', null)).toBe('name:a');
});
