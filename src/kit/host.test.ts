import { expect, test } from 'vitest';
import { bracketed, isWildcard } from './host.ts';

test('an IPv6 address gets brackets once', () => {
  expect(['::1', '[::1]', '127.0.0.1', 'node-1'].map(bracketed)).toEqual([
    ...['[::1]', '[::1]', '127.0.0.1', 'node-1'],
  ]);
});

test('a wildcard is recognised in every form', () => {
  for (const host of ['0.0.0.0', '::', '[::]', '']) expect(isWildcard(host)).toBe(true);
  for (const host of ['127.0.0.1', '::1', 'node-1']) expect(isWildcard(host)).toBe(false);
});
