import { expect, test } from 'vitest';
import { refusalOf } from '../../../test/rig/refusal.ts';
import { readRequest } from './request.ts';
import { defaultQuerySettings } from './settings.ts';

test('what is not said has its default', () => {
  expect(readRequest({ sql: 'select 1' })).toEqual({
    sql: 'select 1',
    plan: undefined,
    params: [],
    tables: undefined,
    settings: defaultQuerySettings,
    timeZone: 'UTC',
    about: { name: null, priority: 2, idempotencyKey: null },
  });
});

test('everything may be said', () => {
  const settings = {
    shufflePartitions: 4,
    broadcastThresholdBytes: 0,
    singleFragmentBytes: 0,
    memoryBytes: 2 ** 30,
    timeoutMs: 1_000,
    maxAttempts: 1,
  };
  const request = readRequest({
    sql: 'select $a',
    params: { a: 1 },
    tables: { t: 'x' },
    settings,
    name: 'n',
    priority: 0,
    idempotencyKey: 'k',
    timeZone: 'europe/berlin',
  });
  expect(request).toMatchObject({
    params: { a: 1 },
    settings,
    timeZone: 'Europe/Berlin',
    about: { name: 'n', priority: 0, idempotencyKey: 'k' },
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

test.each([
  ['text', 'select 1', ': A query must be an object.'],
  ['a list', [], ': A query must be an object.'],
  ['nothing', null, ': A query must be an object.'],
  ['no sql', {}, '/sql: It is missing.'],
  ['a number', { sql: 1 }, '/sql: It must be text.'],
  ['blanks', { sql: ' \n' }, '/sql: The statement is empty.'],
  [
    'NUL',
    { sql: 'select \0' },
    "/sql: The text 'select \ufffd' contains NUL or an unpaired surrogate",
  ],
  ['half a pair', { sql: "select '\ud800'" }, '/sql: The text'],
  ['half a pair deep inside', { sql: 'x', params: [{ a: ['\udc00'] }] }, '/params/0/a/0: The text'],
  ['a key with NUL', { sql: 'x', tables: { 'a\0': 'b' } }, '/tables: The text'],
  [
    'a well without a bottom',
    { sql: 'x', params: nested(100_000) },
    '/params/0/0: Is nested deeper',
  ],
  ['a novel', { sql: 'x'.repeat(1_000_001) }, '/sql: The statement has 1000001 characters'],
  ['both', { sql: 'x', plan: {} }, '/sql: A query has `sql` or `plan`, not both.'],
  ['a typo', { sql: 'x', parms: [] }, "/parms: There is no such field. Did you mean 'params'?"],
  ['text for params', { sql: 'x', params: '1' }, '/params: It must be a list, or an object'],
  ['text for settings', { sql: 'x', settings: [] }, '/settings: It must be an object.'],
  [
    'an unknown setting',
    { sql: 'x', settings: { shufflePartition: 1 } },
    "/settings/shufflePartition: There is no such setting. Did you mean 'shufflePartitions'?",
  ],
  [
    'too many partitions',
    { sql: 'x', settings: { shufflePartitions: 65 } },
    '/settings/shufflePartitions: It must be a whole number, from 1 to 64.',
  ],
  [
    'a text',
    { sql: 'x', settings: { memoryBytes: '1GB' } },
    '/settings/memoryBytes: It must be a whole number, 16777216 or more.',
  ],
  ['half a byte', { sql: 'x', settings: { singleFragmentBytes: 0.5 } }, 'whole number, 0 or more'],
  ['no time', { sql: 'x', settings: { timeoutMs: 0 } }, '/settings/timeoutMs: '],
  ['no name', { sql: 'x', name: '' }, '/name: It is empty.'],
  [
    'an odd name',
    { sql: 'x', name: '\ud800' },
    "/name: The text '\ufffd' contains NUL or an unpaired surrogate",
  ],
  ['a long key', { sql: 'x', idempotencyKey: 'x'.repeat(501) }, '/idempotencyKey: It has more'],
  ['a priority', { sql: 'x', priority: 4 }, '/priority: It must be one of 0, 1, 2, 3'],
  [
    'a zone',
    { sql: 'x', timeZone: 'Mars/Base' },
    "/timeZone: 'Mars/Base' is not a valid time zone.",
  ],
])('%s is refused with the field', (_what, value, words) => {
  expect(refusalOf(() => readRequest(value)).message).toContain(words);
});
