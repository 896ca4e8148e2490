import { expect, test } from 'vitest';
import { visible } from './visible-text.ts';

test('what would turn text around or hide in it is shown as a code point', () => {
  expect(visible('a\u202Egnp.exe')).toBe('a⟨202E⟩gnp.exe');
  expect(visible('\u001b[31mred\u0000')).toBe('⟨001B⟩[31mred⟨0000⟩');
  expect(visible('\u{E0041}')).toBe('⟨E0041⟩');
  expect(visible('a\u200bb\ufeff')).toBe('a⟨200B⟩b⟨FEFF⟩');
});

test('text that people write stays as it is', () => {
  for (const text of ['a\tb\nc', '👩\u200d🚀', 'می\u200cخواهم', 'שלום', '<b>&amp;</b>'])
    expect(visible(text)).toBe(text);
});
