import { expect, test } from 'vitest';
import { readSentEvent } from './sent-event.ts';

test.each([
  [Number.POSITIVE_INFINITY, '/data'],
  [{ a: [1, { b: Number.NaN }] }, '/data/b'],
])('a number that JSON cannot have is refused: %o', (data, path) => {
  expect(() => readSentEvent('tick', { data })).toThrow(
    expect.objectContaining({ code: 'bad_input', path }),
  );
});

test('everything that JSON can have is data', () => {
  const data = { a: [1, -0.5, 1e300, 'x', null, true, {}] };
  expect(readSentEvent('tick', { data, id: 'e-1' })).toMatchObject({
    name: 'tick',
    id: 'e-1',
    data,
  });
});
