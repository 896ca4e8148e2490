import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { checkedSettings } from '../settings.ts';
import { labelsOf, readLabel } from './labels.ts';
import { parseJobDocument } from './parse.ts';

const settings = checkedSettings({});
const parse = (fields: object): ReturnType<typeof parseJobDocument> =>
  parseJobDocument({ tasks: [{ id: 'a', executor: 'echo' }], ...fields }, settings);

test('labels come back as they were given', () => {
  const labels = { team: 'billing', 'a.b-c_d': 'x:y', __proto__x: '', note: 'über "all", {}' };
  expect(labelsOf(parse({ labels }).labels)).toEqual(labels);
  expect(parse({}).labels).toEqual([]);
});

const task = (fields: object): object => ({ tasks: [{ id: 'a', executor: 'echo', ...fields }] });
const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, no) => [`k${no}`, 'v']));

test.each([
  [{ labels: { 'a"b': 'x' } }, '/labels/a"b', "'a\"b' is not a valid label key."],
  [{ labels: { 'a:b': 'x' } }, '/labels/a:b', 'not a valid label key'],
  [{ labels: { '': 'x' } }, '/labels/', 'not a valid label key'],
  [{ labels: { ['k'.repeat(64)]: 'x' } }, `/labels/${'k'.repeat(64)}`, 'not a valid label key'],
  [{ labels: many }, '/labels', '10000 labels exceed the limit of 64 labels per job.'],
  [{ labels: { a: 7 } }, '/labels/a', 'must be text, not 7'],
  [{ labels: { a: null } }, '/labels/a', 'must be text, not null'],
  [{ labels: { a: 'x'.repeat(256) } }, '/labels/a', '256 characters long; the limit is 255'],
  [{ labels: { a: 'x\u0000y' } }, '/labels/a', 'contains a control character'],
  [{ labels: { a: '\ud800' } }, '/labels/a', 'contains an unpaired surrogate'],
  [{ labels: ['a'] }, '/labels', 'must be an object of text by key, not a list'],
  [{ labels: 'a=b' }, '/labels', "not 'a=b'"],
  [task({ limits: [{ key: 'a', max: 0 }] }), '/tasks/0/limits/0/max', 'from 1 to 1000000, not 0'],
  [task({ limits: [{ key: 'a', max: 1e12, perMs: 1 }] }), '/tasks/0/limits/0/max', 'not 10000000'],
  [task({ limits: [{ key: 'a', max: 1, perMs: 0 }] }), '/tasks/0/limits/0/perMs', 'not 0'],
  [task({ limits: [{ key: 7, max: 1 }] }), '/tasks/0/limits/0/key', 'Must be text, not 7'],
  [task({ limits: [{ max: 1 }] }), '/tasks/0/limits/0/key', 'missing'],
  [task({ limits: [{ key: 'a', max: 1, per: 5 }] }), '/tasks/0/limits/0/per', "no field 'per'"],
  [
    task({
      limits: [
        { key: 'a', max: 1 },
        { key: 'a', max: 2 },
      ],
    }),
    '/tasks/0/limits/1/key',
    "has a limit on concurrency with the key 'a' already",
  ],
  [
    task({ concurrency: { key: 'a', limit: 1 }, limits: [{ key: 'a', max: 2 }] }),
    '/tasks/0/limits/0/key',
    "with the key 'a' already",
  ],
  [
    task({ limits: Array.from({ length: 9 }, (_, no) => ({ key: `${no}`, max: 1 })) }),
    '/tasks/0/limits',
    '9 limits exceed',
  ],
  [{ debounce: { key: 'a' } }, '/debounce/ms', 'missing'],
  [{ debounce: { key: 7, ms: 1 } }, '/debounce/key', 'Must be text, not 7'],
  [{ debounce: { key: 'a', ms: 0 } }, '/debounce/ms', 'not 0'],
  [{ debounce: { key: 'a', ms: 5, maxMs: 4 } }, '/debounce/maxMs', 'is less than ms'],
  [
    { debounce: { key: 'a', ms: 5 }, runAt: '2030-01-01T00:00:00Z' },
    '/runAt',
    'no time of its own',
  ],
  [{ fairnessKey: 7 }, '/fairnessKey', 'Must be text, not 7'],
  [{ runAt: '1970-01-01T00:00:00Z' }, '/runAt', 'is not a time to start at'],
  [{ runAt: '9999-12-31T23:59:59Z' }, '/runAt', 'is not a time to start at'],
  [{ runAt: 0 }, '/runAt', '0 is not a time to start at'],
  [{ runAt: 'tomorrow' }, '/runAt', "'tomorrow' is not a valid point in time"],
  [{ runAt: '2026-11-15T02:00:00' }, '/runAt', 'is not a valid point in time'],
  [{ runAt: true }, '/runAt', 'true is not a valid point in time'],
])('%# refuses a document with the path of the field', (fields, path, what) => {
  const refusal = refusalOf(() => parse(fields));
  expect(refusal).toMatchObject({ code: 'bad_input', path });
  expect(refusal.what).toContain(what);
});

describe('a label to look for', () => {
  test.each(['team', ':a', 'te am:a', 'team:a\nb'])('%j is refused', (text) => {
    expect(() => readLabel(text, '?label')).toThrow(
      expect.objectContaining({ code: 'bad_input', path: '?label' }),
    );
  });

  test('may have an empty value, or one with colons', () => {
    expect(readLabel('team:', '?label')).toBe('team:');
    expect(readLabel('time:02:00', '?label')).toBe('time:02:00');
  });
});
