import { expect, test } from 'vitest';
import type { Handshake } from '../contract/index.ts';
import { checkHandshake } from './handshake.ts';

const leader: Handshake = { protocol: 3, millrace: '1.4.2', duckdb: 'v1.5.6' };
const joins = (worker: Partial<Handshake>, at: Handshake = leader): void =>
  checkHandshake(at, { ...leader, ...worker });

test('a worker with the same versions may join, and one that runs no SQL', () => {
  expect(() => joins({})).not.toThrow();
  expect(() => joins({ duckdb: null })).not.toThrow();
  expect(() => joins({}, { ...leader, duckdb: null })).not.toThrow();
});

test('a patch of Millrace or DuckDB is not an obstacle, so that nodes can be upgraded one by one', () => {
  expect(() => joins({ millrace: '1.9.0', duckdb: '1.5.0' })).not.toThrow();
  expect(() =>
    joins({ millrace: '0.3.9' }, { ...leader, millrace: '0.3.1', duckdb: null }),
  ).not.toThrow();
});

test.each([
  [{ protocol: 4 }, 'protocol 4'],
  [{ millrace: '2.0.0' }, 'Millrace 2.0.0'],
  [{ duckdb: '1.6.0' }, 'DuckDB 1.6.0'],
])('%o is refused, and both versions are named', (worker, named) => {
  expect(() => joins(worker)).toThrow(expect.objectContaining({ code: 'incompatible' }));
  expect(() => joins(worker)).toThrow(named);
});

test('before 1.0 another minor version is incompatible', () => {
  expect(() => joins({ millrace: '0.4.0' }, { ...leader, millrace: '0.3.0' })).toThrow(
    'Millrace 0.4.0',
  );
});
