import { expect, test } from 'vitest';
import { fitted, padded, textWidth } from './text-width.ts';

test.each([
  ['plain', 5],
  ['日本語', 6],
  ['ｱ', 1],
  ['e\u0301', 1],
  ['✅', 2],
  ['🫠', 2],
  ['👩‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['\u200B', 0],
  ['', 0],
])('%j takes %d columns', (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

test('is cut between characters, never inside one', () => {
  expect(fitted('ab👩‍👩‍👧cd', 5)).toBe('ab👩‍👩‍👧…');
  expect(fitted('ab👩‍👩‍👧cd', 4)).toBe('ab…');
  expect(fitted('日本語', 6)).toBe('日本語');
  expect(fitted('abc', 0)).toBe('');
});

test('is padded to a column', () => {
  expect(padded('日本', 6)).toBe('日本  ');
});
