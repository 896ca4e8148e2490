import { expect, test } from 'vitest';
import { redactUrl } from './redact-url.ts';

test.each([
  ['postgres://app:s3cret@db:5432/main', 'postgres://app:***@db:5432/main'],
  ['postgres://app:@db/main', 'postgres://app:***@db/main'],
  ['postgres://app@db:5432/main', 'postgres://app@db:5432/main'],
  ['postgres://db:5432/main', 'postgres://db:5432/main'],
  ['postgres://app@db/main?sslpassword=s3cret&x=1', 'postgres://app@db/main?sslpassword=***&x=1'],
  ['postgres://app@db/main?x=1&password=s3cret#top', 'postgres://app@db/main?x=1&password=***#top'],
  ['http://127.0.0.1:7070/api', 'http://127.0.0.1:7070/api'],
  ['leader:7071', 'leader:7071'],
  ['', ''],
])('%s is shown as %s', (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
});

test.each([
  'postgres://app:s3cret#s3cret@db/main',
  'postgres://app:s3cret/s3cret@db/main',
  'postgres://app:s3cret?s3cret@db/main',
  'postgres://app:12#s3cret@db/main',
  'postgres://app:s3cret@s3cret@db/main',
  'postgres://app:s3cret:s3cret@db/main',
  'app:s3cret@db/main',
])('a password that breaks its URL stays hidden: %s', (url) => {
  expect(redactUrl(url)).not.toContain('s3cret');
  expect(redactUrl(url)).toContain('app');
});
