import { expect, test } from 'vitest';
import { SecretRedactor, isSecretName } from './redact-secrets.ts';

const redactor = new SecretRedactor();

test.each([
  ['Authorization: Bearer abcdef0123456789', 'abcdef0123456789'],
  ['curl -u with Basic dXNlcjpwYXNzd29yZA==', 'dXNlcjpwYXNzd29yZA'],
  ['connecting to postgres://app:hunter22@db:5432/x', 'hunter22'],
  ['password=hunter22 user=app', 'hunter22'],
  ['{"apiKey": "hunter22", "rows": 3}', 'hunter22'],
  ["DB_PASSWORD='hunter 22'", 'hunter 22'],
  ['token: hunter22', 'hunter22'],
  ['key AKIAABCDEFGHIJKLMNOP used', 'AKIAABCDEFGHIJKLMNOP'],
  ['push with ghp_0123456789abcdefghijABCDEFGHIJ', 'ghp_0123456789'],
  ['jwt eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4', 'SflKxwRJSMeKKF2QT4'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----', 'MIIEow'],
  ['-----BEGIN PRIVATE KEY-----\nMIIEow and cut off', 'MIIEow'],
])('takes the secret out of %j', (text, secret) => {
  expect(redactor.text(text)).not.toContain(secret);
  expect(redactor.text(text)).toContain('[redacted]');
});

test.each([
  'processed 12 tokens in 3 s',
  'https://example.org/a?b=c',
  'the secretary passed the test',
  'GET /metrics 200',
  'prompt_tokens=1200 and tokens: 30',
])('leaves %j as it is', (text) => {
  expect(redactor.text(text)).toBe(text);
});

test('redacting text twice changes nothing', () => {
  const once = redactor.text('token=abcdefgh and http://u:pw@h and "password": "x y"');
  expect(redactor.text(once)).toBe(once);
});

test('values of variables with a secret name are taken out wherever they occur', () => {
  const own = SecretRedactor.ofEnvironment({
    STRIPE_API_KEY: 'plain-looking',
    HOME: '/opt/someone',
  });
  expect(own.text('using plain-looking in /opt/someone')).toBe('using [redacted] in /opt/someone');
});

test('fields with a secret name are replaced whole, at any depth', () => {
  const fields = {
    user: 'a',
    dbPassword: { x: 1 },
    list: [{ accessKey: 'k', note: 'token=abc12345' }],
  };
  expect(redactor.json(fields)).toEqual({
    user: 'a',
    dbPassword: '[redacted]',
    list: [{ accessKey: '[redacted]', note: 'token=[redacted]' }],
  });
  expect(isSecretName('tokens_used')).toBe(true);
  expect(isSecretName('tokenizer')).toBe(false);
});

test('hostile text is redacted in linear time', () => {
  for (const piece of [
    '-----BEGIN PRIVATE KEY-----',
    'a://b:',
    'password=',
    'token"',
    'eyJ',
    '"',
  ]) {
    const text = piece.repeat(Math.ceil(16_384 / piece.length));
    const from = performance.now();
    redactor.text(text);
    expect(performance.now() - from).toBeLessThan(2_000);
  }
});
