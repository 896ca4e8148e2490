import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { defaultSettings } from '../settings.ts';
import { decodeJobOptions, encodeJobOptions } from './job-options.ts';
import { parseJobDocument } from './parse.ts';

const parse = (webhooks: unknown) =>
  parseJobDocument({ tasks: [{ id: 'a', executor: 'echo' }], webhooks }, defaultSettings).options;

test('webhooks are read with all ends unless some are named, and survive being stored', () => {
  const options = parse([
    { url: 'https://example.org' },
    { url: 'http://[::1]:8080/a/b?c=%20d&e=~', on: ['cancelled', 'succeeded', 'cancelled'] },
  ]);
  expect(options.webhooks).toEqual([
    { url: 'https://example.org', on: ['succeeded', 'failed', 'cancelled'] },
    { url: 'http://[::1]:8080/a/b?c=%20d&e=~', on: ['succeeded', 'cancelled'] },
  ]);
  expect(
    decodeJobOptions(
      encodeJobOptions({
        ...options,
        firstAt: null,
        batchOf: null,
        priority: null,
        runAt: null,
        startedBy: null,
      }),
    ),
  ).toMatchObject(options);
  expect(parse([]).webhooks).toEqual([]);
});

describe('hostile addresses are refused, and not repeated', () => {
  test.each([
    'ftp://example.org/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'HTTPS:example.org',
    '//example.org/',
    'https://user:s3cret@example.org/',
    'https://token@example.org/',
    'https://example.org\\@evil.example/',
    'https://example.org/#fragment',
    'https://exa mple.org/',
    'https://example.org/a b',
    'https://example.org/\r\nHost: evil.example',
    'https://example.org/\u0000',
    'https://ex\u00e4mple.org/',
    'https://example.org/\ud800',
    'https://-example.org/',
    'https://',
    'https:///path',
    'https://example.org:port/',
    '',
  ])('%j', (url) => {
    const refusal = refusalOf(() => parse([{ url }]));
    expect(refusal).toMatchObject({ code: 'bad_input', path: '/webhooks/0/url' });
    expect(refusal.message).not.toContain('s3cret');
  });
});

test.each([
  ['x', '/webhooks'],
  [{ url: 'https://example.org' }, '/webhooks'],
  [['https://example.org'], '/webhooks/0'],
  [[{}], '/webhooks/0/url'],
  [[{ url: 7 }], '/webhooks/0/url'],
  [[{ url: `https://example.org/${'a'.repeat(2_000)}` }], '/webhooks/0/url'],
  [[{ url: 'https://example.org', secret: 'whsec_abc' }], '/webhooks/0/secret'],
  [[{ url: 'https://example.org', on: [] }], '/webhooks/0/on'],
  [[{ url: 'https://example.org', on: 'failed' }], '/webhooks/0/on'],
  [[{ url: 'https://example.org', on: ['failed', 'ended'] }], '/webhooks/0/on/1'],
  [Array.from({ length: 9 }, () => ({ url: 'https://example.org' })), '/webhooks'],
])('%# is refused with the path of the field', (webhooks, path) => {
  expect(refusalOf(() => parse(webhooks))).toMatchObject({ code: 'bad_input', path });
});
