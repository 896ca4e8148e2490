import { uuidv7 } from 'uuidv7';
import { expect, test } from 'vitest';
import { NameFilter } from './name-filter.ts';

test('has every name that was put in, and hardly any other, however many there are', () => {
  const filter = new NameFilter();
  expect(filter.mayHave('')).toBe(false);
  const names = Array.from({ length: 70_000 }, (_, no) =>
    // As clients choose them: alone, in lists, and by hand.
    no % 3 === 0 ? uuidv7() : no % 3 === 1 ? `list.${no}` : `${no}`,
  );
  for (const name of names) filter.add(name);
  expect(names.every((name) => filter.mayHave(name))).toBe(true);
  const others = Array.from({ length: 50_000 }, (_, no) =>
    no % 3 === 0 ? uuidv7() : no % 3 === 1 ? `list.${no}x` : `${no + 70_000}`,
  );
  const mistaken = others.filter((name) => filter.mayHave(name)).length;
  // A list of five hundred new ones has mostly none.
  expect(mistaken).toBeLessThan(others.length * 0.0005);
});
