import { expect, test } from 'vitest';
import type { JobSummary } from '../../src/scheduler/contract/index.ts';
import { fits, hasLocalPart, parseFilter, serverPart, withState, withWaits } from './job-filter.ts';

const at = Date.parse('2026-11-16T12:00:00Z');

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
  ['schedule:nightly by:event/tick/e1', { schedule: 'nightly', startedBy: 'event/tick/e1' }],
  ['a=b', { name: 'a=b' }],
  ['', {}],
])('%s asks the server for %j', (text, expected) => {
  expect(serverPart(termsOf(text), at)).toEqual(expected);
});

test.each([
  ['by:ann', "'by' takes what has started the job: by:event/order.created, by:job/ID."],
  ['state:wrong', "'wrong' is not a state. Use queued, running, succeeded, failed, cancelled."],
  [
    'stat:failed',
    "'stat' is not known. Use state, name, id, schedule, by, waits, age, took or label.KEY.",
  ],
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

test('the server looks for signals and times', () => {
  expect(serverPart(termsOf('waits:approval age<1h age>5m'), at)).toEqual({
    waitingFor: 'approval',
    since: '2026-11-16T11:00:00.000Z',
    until: '2026-11-16T11:55:00.000Z',
  });
  expect(hasLocalPart(termsOf('waits:* age<1h'))).toBe(false);
  expect(serverPart(termsOf('age<99999999d'), at)).toEqual({ since: '1970-01-01T00:00:00.000Z' });
  expect(parseFilter('waits:"a b"').ok).toBe(false);
  expect(withWaits('name:a', true)).toBe('waits:* name:a');
  expect(withWaits('waits:x name:a', false)).toBe('name:a');
});

test('a state is added, replaced and removed, and other terms stay', () => {
  expect(withState('name:a', 'failed')).toBe('state:failed name:a');
  expect(withState('state:failed name:a', 'queued')).toBe('state:queued name:a');
  expect(withState('state:failed name:a', null)).toBe('name:a');
});
