import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  existsSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localToken, makeLocalToken } from './local-token.ts';

let folder: string;
let environment: { readonly XDG_RUNTIME_DIR: string };
/** A port of nobody in the other folder that is looked at. */
const PORT = 99_999;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-local-'));
  environment = { XDG_RUNTIME_DIR: folder };
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (path: string): number => statSync(path).mode & 0o777;
const own = (name = ''): string => join(folder, 'millrace', name);

test('a token is found by the number of the port, while the process lives', () => {
  const made = makeLocalToken(environment);
  expect(made.path()).toBeNull();
  made.publish(PORT);
  expect(localToken(PORT, environment)).toBe(made.token);
  expect(localToken(PORT + 1, environment)).toBeNull();
  expect(made.path()).toBe(own(`${PORT}.token`));
  made.withdraw();
  expect(localToken(PORT, environment)).toBeNull();
  expect(existsSync(own())).toBe(false);
});

test('the folder stays while another process has its token there', () => {
  const [one, other] = [makeLocalToken(environment), makeLocalToken(environment)];
  one.publish(PORT);
  other.publish(PORT + 1);
  one.withdraw();
  expect(localToken(PORT + 1, environment)).toBe(other.token);
  one.publish(PORT);
  other.withdraw();
  expect(localToken(PORT, environment)).toBe(one.token);
  one.withdraw();
  expect(existsSync(own())).toBe(false);
});

test('its file is private, whatever was there before', () => {
  mkdirSync(own(), { mode: 0o700 });
  writeFileSync(own(`${PORT}.token`), 'from before', { mode: 0o644 });
  makeLocalToken(environment).publish(PORT);
  expect(mode(own())).toBe(0o700);
  expect(mode(own(`${PORT}.token`))).toBe(0o600);
});

test('a folder that others can enter is not used', () => {
  makeLocalToken(environment).publish(PORT);
  chmodSync(own(), 0o755);
  expect(localToken(PORT, environment)).toBeNull();
  const other = makeLocalToken(environment);
  other.publish(PORT);
  expect(other.path()?.startsWith(folder) ?? false).toBe(false);
  other.withdraw();
});

test('the token of an ended process is not presented to the new owner of its port, and is removed', () => {
  const made = makeLocalToken(environment);
  made.publish(PORT);
  // No process has an id beyond the largest that a kernel gives.
  writeFileSync(own(`${PORT}.pid`), '4194305');
  expect(localToken(PORT, environment)).toBeNull();
  makeLocalToken(environment).publish(PORT + 1);
  expect(readdirSync(own()).toSorted()).toEqual([`${PORT + 1}.pid`, `${PORT + 1}.token`]);
  writeFileSync(own(`${PORT}.pid`), '0');
  expect(localToken(PORT, environment)).toBeNull();
});
