import { describe, expect, test } from 'vitest';
import { checkBinding, checkPage, isLoopback } from './index.ts';

test.each([
  '127.0.0.1',
  '127.8.9.10',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  'localhost',
  'LOCALHOST.',
])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '::2',
  'fe80::1%lo',
  '::ffff:10.0.0.1',
  'example.org',
  'localhost.example.org',
  '127.0.0.1.example.org',
  '127.1',
  '0177.0.0.1',
  '',
])('%j may be another', (host) => {
  expect(isLoopback(host)).toBe(false);
});

describe('an address to listen on', () => {
  const plain = { host: '0.0.0.0', tokenFile: undefined, tls: false, insecure: false };

  test('of this machine needs nothing', () => {
    expect(checkBinding({ ...plain, host: '127.0.0.1' })).toBe('loopback');
  });

  test('of another needs TLS and tokens', () => {
    expect(checkBinding({ ...plain, tls: true, tokenFile: 'tokens' })).toBe('secured');
    expect(() => checkBinding(plain)).toThrow(
      '0.0.0.0 is reachable by other machines, and TLS (--tls-cert and --tls-key) and tokens (--token-file) are missing.',
    );
    expect(() => checkBinding({ ...plain, tls: true })).toThrow('tokens (--token-file) is missing');
    expect(() => checkBinding({ ...plain, tokenFile: 'tokens' })).toThrow(
      'TLS (--tls-cert and --tls-key) is missing',
    );
    expect(() => checkBinding(plain)).toThrow(expect.objectContaining({ code: 'bad_setting' }));
  });

  test('is unrestricted with --insecure', () => {
    expect(checkBinding({ ...plain, insecure: true })).toBe('insecure');
    expect(() => checkBinding(plain)).toThrow('--insecure');
  });
});

describe('a page in a browser of this machine', () => {
  const check = (headers: object, method = 'POST') => checkPage(headers, { method, isLocal: true });

  test.each([
    {},
    { host: '127.0.0.1:7070' },
    { host: 'localhost:7070', origin: 'http://localhost:7070', 'sec-fetch-site': 'same-origin' },
    { host: '[::1]:7070', origin: 'http://[::1]:7070' },
    { host: '127.0.0.1:7070', 'sec-fetch-site': 'none' },
  ])('that belongs here is served: %j', (headers) => {
    expect(() => check(headers)).not.toThrow();
  });

  test.each([
    { host: 'evil.example:7070' },
    { host: 'localhost.evil.example' },
    { host: '' },
    { host: '127.0.0.1:7070', origin: 'https://evil.example' },
    { host: '127.0.0.1:7070', origin: 'null' },
    { host: '127.0.0.1:7070', origin: 'http://127.0.0.1:9999' },
    { host: 'localhost:7070', origin: 'http://127.0.0.1:7070' },
    { host: '127.0.0.1:7070', 'sec-fetch-site': 'cross-site' },
    { host: '127.0.0.1:7070', 'sec-fetch-site': 'same-site' },
    { host: '127.0.0.1:7070', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
  ])('that comes from elsewhere is not: %j', (headers) => {
    expect(() => check(headers)).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  test('is judged by its own Host header, whatever the one before had', () => {
    for (let again = 0; again < 2; again += 1) {
      check({ host: '127.0.0.1:7070' });
      expect(() => check({ host: 'evil.example' })).toThrow('names another machine');
      expect(() => check({ host: 'not a host' })).toThrow('names another machine');
    }
  });

  test('may be opened by a link from elsewhere', () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    expect(() => check({ host: '127.0.0.1:7070', ...headers }, 'GET')).not.toThrow();
  });

  test('of a server for other machines may use any name; cross-origin pages are refused', () => {
    const on = (headers: object) => checkPage(headers, { method: 'POST', isLocal: false });
    expect(() => on({ host: 'mill.example', origin: 'https://mill.example' })).not.toThrow();
    expect(() => on({ host: 'mill.example', origin: 'https://evil.example' })).toThrow('Origin');
  });
});
