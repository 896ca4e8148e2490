import * as crypto from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isMillraceError, type MillraceError } from '../../scheduler/core/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { type Access, accessWith, bearer, type Role, tokenAccess } from './index.ts';

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
  return tokenAccess({ path, clock, warn: (sentence) => warnings.push(sentence) });
}

async function refusal(act: () => unknown): Promise<MillraceError> {
  try {
    await act();
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const allow = (access: Access, token: string, needed: Role) =>
  access.allow({ authorization: bearer(token) }, needed);

describe('a role allows exactly these operations', () => {
  test.each<[Role, readonly Role[]]>([
    ['admin', ['admin', 'submit', 'read', 'worker']],
    ['submit', ['submit', 'read']],
    ['read', ['read']],
    ['worker', ['worker']],
  ])('%s: %j', async (role, may) => {
    const access = open(LINES);
    for (const needed of ROLES) {
      if (may.includes(needed)) {
        const caller = await allow(access, tokenOf(role), needed);
        expect(caller).toMatchObject({ role, name: `the-${role}` });
        expect(caller.credential).not.toContain(tokenOf(role));
        continue;
      }
      const error = await refusal(() => allow(access, tokenOf(role), needed));
      expect(error.code).toBe('forbidden');
      expect(error.message).toContain(
        `the-${role} has the role ${role}; this call requires ${needed}`,
      );
      expect(error.message).not.toContain(tokenOf(role));
    }
  });
});

describe('a caller without a valid token is unauthenticated', () => {
  test.each([
    [undefined, 'none was sent'],
    ['', 'none was sent'],
    [`Basic ${tokenOf('admin')}`, 'not a bearer token'],
    [tokenOf('admin'), 'not a bearer token'],
    ['Bearer ', 'not a bearer token'],
    [`Bearer ${tokenOf('admin')}x`, 'not valid on this server'],
    [`Bearer ${tokenOf('admin').slice(0, -1)}`, 'not valid on this server'],
    [`Bearer ${tokenOf('admin')} ${tokenOf('admin')}`, 'not a bearer token'],
  ])('%j', async (authorization, why) => {
    const error = await refusal(() => open(LINES).allow({ authorization }, 'read'));
    expect(error.code).toBe('unauthenticated');
    expect(error.message).toContain(why);
    expect(error.message).not.toContain('0123456789');
  });

  test('the authorization scheme is case-insensitive', async () => {
    const authorization = `bearer  ${tokenOf('read')}`;
    expect(await open(LINES).allow({ authorization }, 'read')).toMatchObject({ role: 'read' });
  });
});

test('every known token is compared, whichever is presented', async () => {
  const access = open(LINES);
  const comparisons = async (token: string): Promise<number> => {
    vi.mocked(crypto.timingSafeEqual).mockClear();
    try {
      await allow(access, token, 'read');
    } catch {
      // Only the count matters here.
    }
    return vi.mocked(crypto.timingSafeEqual).mock.calls.length;
  };
  const shown = [...ROLES.map(tokenOf), 'unknown-unknown-unknown', 'x'];
  for (const token of shown) expect(await comparisons(token)).toBe(ROLES.length);
});

describe('the file is read again when it has changed', () => {
  test('a second after the last check, not earlier', async () => {
    const access = open(LINES);
    write('read another-0123456789abcdef');
    await clock.advance(999);
    expect(await allow(access, tokenOf('admin'), 'admin')).toMatchObject({ role: 'admin' });
    await clock.advance(1);
    expect((await refusal(() => allow(access, tokenOf('admin'), 'admin'))).code).toBe(
      'unauthenticated',
    );
    expect(await allow(access, 'another-0123456789abcdef', 'read')).toMatchObject({ role: 'read' });
  });

  test.each([
    ['wrong', () => write('nonsense')],
    ['gone', () => rmSync(path)],
  ])(
    'one that is %s is reported once, and the previous tokens stay valid',
    async (_what, spoil) => {
      const access = open(LINES);
      spoil();
      for (const ms of [1_000, 2_000, 3_000]) {
        await clock.advance(ms);
        expect(await allow(access, tokenOf('admin'), 'admin')).toMatchObject({ role: 'admin' });
      }
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/The token file .* stay valid/);
      write('read another-0123456789abcdef');
      await clock.advance(1_000);
      expect(await allow(access, 'another-0123456789abcdef', 'read')).toMatchObject({
        role: 'read',
      });
    },
  );
});

test('a file that everybody can read is reported', () => {
  write(LINES);
  chmodSync(path, 0o644);
  tokenAccess({ path, clock, warn: (sentence) => warnings.push(sentence) });
  expect(warnings).toEqual([expect.stringContaining('chmod 600')]);
  chmodSync(path, 0o640);
  tokenAccess({ path, clock, warn: (sentence) => warnings.push(sentence) });
  expect(warnings).toHaveLength(1);
});

test('a file that is not there stops the start', async () => {
  const access = () => tokenAccess({ path, clock, warn: () => {} });
  expect((await refusal(access)).message).toContain('does not exist');
  expect((await refusal(access)).code).toBe('bad_setting');
});

test('a single token allows everything, and nothing is allowed without it', async () => {
  const access = accessWith('a-token-of-one-program');
  expect(access.scope).toBe('own user');
  const shown = { authorization: bearer('a-token-of-one-program') };
  expect(await access.allow(shown, 'admin')).toMatchObject({ role: 'admin' });
  for (const authorization of [undefined, '', bearer('a-token-of-one-progra'), 'Basic abc']) {
    const error = await refusal(() => access.allow({ authorization }, 'read'));
    expect(error.code).toBe('unauthenticated');
  }
});
