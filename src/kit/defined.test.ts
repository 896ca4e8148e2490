import { expect, test } from 'vitest';
import { defined } from './defined.ts';

test('leaves out undefined, and nothing else', () => {
  const given = defined({ a: undefined, b: null, c: 0, d: '', e: false });
  expect(given).toEqual({ b: null, c: 0, d: '', e: false });
  expect(Object.keys(given)).not.toContain('a');
});
