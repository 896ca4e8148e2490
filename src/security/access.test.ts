import * as crypto from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isMillraceError, type MillraceError } from '../core/index.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { type Access, accessFor, accessWith, bearer, openAccess, type Role } from './index.ts';

vi.mock('node:crypto', { spy: true });

const ROLES: readonly Role[] = ['admin', 'submit', 'read', 'worker'];
const tokenOf = (role: Role): string => `${role}-0123456789abcdef`;
const LINES = ROLES.map((role) => `${role} ${tokenOf(role)} the-${role}`).join('\n');

let folder: string;
let path: string;
let clock: VirtualClock;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tokens-'));
  path = join(folder, 'tokens');
  clock = new VirtualClock();
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
  // The file system's clock may stand still between two writes; the one that was meant does not.
  utimesSync(path, new Date(), new Date(Date.now() + (edits += 1) * 1_000));
}
let edits = 0;

function open(text: string): Access {
  write(text);
  return accessFor({ tokenFile: path, clock, warn: (sentence) => warnings.push(sentence) });
}

function refusal(act: () => unknown): MillraceError {
  try {
    act();
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const allow = (access: Access, token: string, needed: Role) =>
  access.allow({ authorization: bearer(token) }, needed);

test('without a token file nobody is asked', () => {
  const access = accessFor({ tokenFile: undefined, warn: () => {} });
  expect(access).toBe(openAccess);
  expect(access.isOpen).toBe(true);
  expect(access.allow({}, 'admin')).toEqual({ name: 'anybody', role: 'admin' });
});

describe('a role may do this and no more', () => {
  test.each<[Role, readonly Role[]]>([
    ['admin', ['admin', 'submit', 'read', 'worker']],
    ['submit', ['submit', 'read']],
    ['read', ['read']],
    ['worker', ['worker']],
  ])('%s: %j', (role, may) => {
    const access = open(LINES);
    for (const needed of ROLES) {
      if (may.includes(needed)) {
        expect(allow(access, tokenOf(role), needed)).toEqual({ role, name: `the-${role}` });
        continue;
      }
      const error = refusal(() => allow(access, tokenOf(role), needed));
      expect(error.code).toBe('forbidden');
      expect(error.message).toContain(`the-${role} has the role ${role}, and this needs ${needed}`);
      expect(error.message).not.toContain(tokenOf(role));
    }
  });
});

describe('who shows no right token is unauthenticated', () => {
  test.each([
    [undefined, 'none was shown'],
    ['', 'none was shown'],
    [`Basic ${tokenOf('admin')}`, 'not a bearer token'],
    [tokenOf('admin'), 'not a bearer token'],
    ['Bearer ', 'not a bearer token'],
    [`Bearer ${tokenOf('admin')}x`, 'not known'],
    [`Bearer ${tokenOf('admin').slice(0, -1)}`, 'not known'],
    [`Bearer ${tokenOf('admin')} ${tokenOf('admin')}`, 'not a bearer token'],
  ])('%j', (authorization, why) => {
    const error = refusal(() => open(LINES).allow({ authorization }, 'read'));
    expect(error.code).toBe('unauthenticated');
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('0123456789');
  });

  test('the scheme is written in any case', () => {
    const authorization = `bearer  ${tokenOf('read')}`;
    expect(open(LINES).allow({ authorization }, 'read').role).toBe('read');
  });
});

describe('a verified certificate', () => {
  const peerCertificate = { subject: { CN: 'w-1' } };

  test('makes a worker, and nothing else', () => {
    const access = open(LINES);
    expect(access.allow({ peerCertificate }, 'worker')).toEqual({ name: 'w-1', role: 'worker' });
    for (const needed of ['admin', 'submit', 'read'] as const) {
      const error = refusal(() => access.allow({ peerCertificate }, needed));
      expect(error.code).toBe('unauthenticated');
    }
  });

  test('adds to a token that may do other things, and does not excuse a wrong one', () => {
    const access = open(LINES);
    const authorization = bearer(tokenOf('submit'));
    expect(access.allow({ peerCertificate, authorization }, 'submit').name).toBe('the-submit');
    expect(access.allow({ peerCertificate, authorization }, 'worker').name).toBe('w-1');
    const wrong = { peerCertificate, authorization: bearer('something-else-entirely') };
    expect(refusal(() => access.allow(wrong, 'worker')).code).toBe('unauthenticated');
  });
});

test('every known token is compared, whichever of them is shown', () => {
  const access = open(LINES);
  const comparisons = (token: string): number => {
    vi.mocked(crypto.timingSafeEqual).mockClear();
    try {
      allow(access, token, 'read');
    } catch {
      // Only the count matters here.
    }
    return vi.mocked(crypto.timingSafeEqual).mock.calls.length;
  };
  const shown = [...ROLES.map(tokenOf), 'unknown-unknown-unknown', 'x'];
  expect(shown.map(comparisons)).toEqual(shown.map(() => ROLES.length));
});

describe('the file is read again when it has changed', () => {
  test('a second after the last look, not earlier', async () => {
    const access = open(LINES);
    write('read another-0123456789abcdef');
    await clock.advance(999);
    expect(allow(access, tokenOf('admin'), 'admin').role).toBe('admin');
    await clock.advance(1);
    expect(refusal(() => allow(access, tokenOf('admin'), 'admin')).code).toBe('unauthenticated');
    expect(allow(access, 'another-0123456789abcdef', 'read').role).toBe('read');
  });

  test.each([
    ['wrong', () => write('nonsense')],
    ['gone', () => rmSync(path)],
  ])('one that is %s is told once, and the tokens from before stay valid', async (_what, spoil) => {
    const access = open(LINES);
    spoil();
    for (const ms of [1_000, 2_000, 3_000]) {
      await clock.advance(ms);
      expect(allow(access, tokenOf('admin'), 'admin').role).toBe('admin');
    }
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/The token file .* stay valid/);
    write('read another-0123456789abcdef');
    await clock.advance(1_000);
    expect(allow(access, 'another-0123456789abcdef', 'read').role).toBe('read');
  });
});

test('a file that everybody can read is told', () => {
  write(LINES);
  chmodSync(path, 0o644);
  accessFor({ tokenFile: path, clock, warn: (sentence) => warnings.push(sentence) });
  expect(warnings).toEqual([expect.stringContaining('chmod 600')]);
  chmodSync(path, 0o640);
  accessFor({ tokenFile: path, clock, warn: (sentence) => warnings.push(sentence) });
  expect(warnings).toHaveLength(1);
});

test('a file that is not there stops the start', () => {
  const access = () => accessFor({ tokenFile: path, clock, warn: () => {} });
  expect(refusal(access).message).toContain('is not there');
  expect(refusal(access).code).toBe('bad_setting');
});

test('a single token lets whoever shows it do everything, and nobody else anything', () => {
  const access = accessWith('a-token-of-one-program');
  const allow = (authorization?: string): unknown => access.allow({ authorization }, 'read');
  expect(access.isOpen).toBe(false);
  expect(access.allow({ authorization: bearer('a-token-of-one-program') }, 'admin')).toMatchObject({
    role: 'admin',
  });
  for (const wrong of [undefined, '', bearer('a-token-of-one-progra'), 'Basic abc']) {
    expect(() => allow(wrong)).toThrow(expect.objectContaining({ code: 'unauthenticated' }));
  }
});
