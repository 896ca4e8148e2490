import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bearer, checkTokenPath, exactToken, readToken, type Role, shownToken } from './index.ts';
import { makeLocalToken } from './local-token.ts';

const A = 's3cret-a-0123456789';
const B = 's3cret-b-0123456789';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-token-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function read(text: string, needed: Role = 'submit', token?: string): string | undefined {
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, text);
  return readToken({ token, tokenFile }, needed);
}

test('a token takes precedence over a file, and without both there is none', () => {
  expect(read(`${B}\n`, 'read', A)).toBe(A);
  expect(readToken({ token: undefined, tokenFile: undefined }, 'read')).toBeUndefined();
});

test('a file may hold the token alone', () => {
  expect(read(`${A}\n`)).toBe(A);
});

test("from a server's file the sufficient token with the fewest rights is taken", () => {
  const text = `admin ${A}\nworker ${B}\n`;
  expect(read(text, 'worker')).toBe(B);
  expect(read(text, 'submit')).toBe(A);
  expect(read(`[{"role": "worker", "token": "${B}"}]`, 'worker')).toBe(B);
});

test.each([
  ['s3cret', 'fewer than 16 characters'],
  [`worker ${A}`, 'no token with the role submit'],
  ['', 'contains no token'],
  [`boss ${A}`, 'does not begin with a role'],
])('%j is refused without quoting it', (text, why) => {
  expect(() => read(text)).toThrow(why);
  expect(() => read(text)).not.toThrow('s3cret');
});

test('a missing file is reported', () => {
  const tokenFile = join(folder, 'none');
  expect(() => readToken({ token: undefined, tokenFile }, 'read')).toThrow('does not exist');
});

test('it is sent as a bearer token', () => {
  expect(bearer(A)).toBe(`Bearer ${A}`);
});

test.each([
  [`admin ${A}\nworker ${B}`, B],
  // One that may do more is not for strangers, and of a bare one nobody knows what it may do.
  [`admin ${A}`, undefined],
  [A, undefined],
])('a token to show to somebody unknown is one of just that role', (text, expected) => {
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, text);
  expect(exactToken(tokenFile, 'worker')).toBe(expected);
  expect(exactToken(undefined, 'worker')).toBeUndefined();
});

describe('the token that is presented to an address', () => {
  const shown = (address: string, more: Partial<Parameters<typeof shownToken>[0]> = {}) =>
    shownToken({ token: 'given', isEncrypted: false, insecure: false, ...more })(address);

  test('is the token, on this machine and where the connection is encrypted', () => {
    expect(shown('127.0.0.1:7071')).toBe('given');
    expect(shown('[::1]:7071')).toBe('given');
    expect(shown('mill.example:7071', { isEncrypted: true })).toBe('given');
    expect(shown('mill.example:7071', { insecure: true })).toBe('given');
  });

  test('is withheld where the connection could be read by others', () => {
    expect(shown('mill.example:7071')).toBeNull();
    expect(shown('10.0.0.1:7071')).toBeNull();
  });

  test('is decided for each address, whatever was asked before', () => {
    const present = shownToken({ token: 'given', isEncrypted: false, insecure: false });
    for (let again = 0; again < 2; again += 1) {
      expect(present('127.0.0.1:7071')).toBe('given');
      expect(present('10.0.0.1:7071')).toBeNull();
    }
  });

  test('is by default the one that a server of the same user has published', () => {
    const local = makeLocalToken();
    // No port, so that nothing real is in the way.
    local.publish(77_777);
    onTestFinished(() => local.withdraw());
    expect(shown('localhost:77777', { token: null })).toBe(local.token);
    expect(shown('mill.example:77777', { token: null, isEncrypted: true })).toBeNull();
  });
});

test('a URL over which a token would be sent unencrypted is refused', () => {
  const check =
    (url: string, insecure = false) =>
    () =>
      checkTokenPath(new URL(url), insecure);
  expect(check('http://mill.example:7070')).toThrow('unencrypted');
  expect(check('http://mill.example:7070', true)).not.toThrow();
  expect(check('https://mill.example')).not.toThrow();
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    expect(check(`http://${host}:7070`)).not.toThrow();
  }
});
