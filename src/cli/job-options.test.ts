import { expect, test } from 'vitest';
import { jobFields } from './job-options.ts';

test.each([
  ['docs=30s', { key: 'docs', ms: 30_000 }],
  ['docs=30s,5m', { key: 'docs', ms: 30_000, maxMs: 300_000 }],
  ['a = b=250', { key: 'a = b', ms: 250 }],
])('--debounce %s', (debounce, expected) => {
  expect(jobFields({ debounce })).toEqual({ debounce: expected });
});

test('--batch has a key, a count and a duration', () => {
  const batch = { key: 'mail of ann', max: 100, ms: 500 };
  expect(jobFields({ batch: 'mail of ann=100,500ms' })).toEqual({ batch });
});

test.each(['docs', 'docs=', 'docs=soon', 'docs=1s,', 'docs=1s,2s,3s', '=1s'])(
  '--debounce %s is refused with an example',
  (debounce) => {
    expect(() => jobFields({ debounce })).toThrow(/Write --debounce 'KEY=30s'/);
  },
);

test.each(['mail', 'mail=100', 'mail=many,1s', 'mail=1.5,1s', 'mail=10,1s,2s', '=10,1s'])(
  '--batch %s is refused with an example',
  (batch) => {
    expect(() => jobFields({ batch })).toThrow(/Write --batch 'KEY=100,5s'/);
  },
);
