import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Entry {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: true;
  readonly dev?: true;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
  readonly libc?: readonly string[];
}

const lock = JSON.parse(
  readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'),
) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const entries = Object.entries(lock.packages).filter(([place]) => place !== '');
const isHashed = ({ integrity = '' }: Entry): boolean => integrity.startsWith('sha512-');

/**
 * Packages of other platforms whose hashes no registry at hand could tell when the lock file was written: npm
 * installs them unverified there. `npm run lock` fills in what it can. Nothing may be added to this list.
 */
const UNVERIFIED = [
  'node_modules/@duckdb/node-bindings-darwin-arm64',
  'node_modules/@duckdb/node-bindings-darwin-x64',
  'node_modules/@duckdb/node-bindings-linux-arm64',
  'node_modules/@duckdb/node-bindings-linux-arm64-musl',
  'node_modules/@duckdb/node-bindings-win32-arm64',
  'node_modules/@duckdb/node-bindings-win32-x64',
];

test('whatever users install is verified by a hash, but for what is known to lack one', () => {
  const unverified = entries.filter(([, entry]) => !isHashed(entry) && entry.dev !== true);
  for (const [place] of unverified) expect(UNVERIFIED).toContain(place);
});

test('only optional packages of other platforms lack a hash', () => {
  const unverified = entries.filter(([, entry]) => !isHashed(entry));
  for (const [place, { optional, cpu, os }] of unverified) {
    expect([place, optional]).toEqual([place, true]);
    const isOther = cpu?.includes('x64') !== true || os?.includes('linux') !== true;
    const isMusl = lock.packages[place]?.libc?.includes('musl') === true;
    expect([place, isOther || isMusl]).toEqual([place, true]);
  }
});

test('no host is named: packages come from the registry that is in use', () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});
