import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobNo } from '../core/index.ts';
import { SMALL_BYTES, WaitingInputs } from './waiting-inputs.ts';

const texts = fc.oneof(
  fc.constant(null),
  fc.json(),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
);
const numbers = fc.oneof(
  fc.integer({ min: 1, max: 600 }),
  fc.integer({ min: 2 ** 40, max: 2 ** 40 + 9 }),
);

test('gives back what it has kept until that is deleted', () => {
  const moves = fc.array(fc.tuple(numbers, fc.option(texts, { nil: undefined })), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(moves, (all) => {
      const inputs = new WaitingInputs();
      const model = new Map<number, string | null>();
      for (const [number, text] of all) {
        if (text === undefined) {
          inputs.delete(jobNo(number));
          model.delete(number);
        } else if (!model.has(number) && inputs.set(jobNo(number), text)) model.set(number, text);
        expect(inputs.get(jobNo(number))).toBe(model.get(number));
      }
      for (const [number] of all) expect(inputs.get(jobNo(number))).toBe(model.get(number));
      for (const number of model.keys()) inputs.delete(jobNo(number));
      expect(inputs.bytes).toBe(0);
    }),
  );
});

test('long inputs are left to the store, by their bytes', () => {
  const inputs = new WaitingInputs();
  expect(inputs.set(jobNo(1), 'x'.repeat(SMALL_BYTES))).toBe(true);
  expect(inputs.set(jobNo(2), 'x'.repeat(SMALL_BYTES + 1))).toBe(false);
  expect(inputs.set(jobNo(3), 'é'.repeat(SMALL_BYTES / 2 + 1))).toBe(false);
  expect(inputs.get(jobNo(2))).toBeUndefined();
  expect(inputs.get(jobNo(3))).toBeUndefined();
});

test('takes a few bytes more than the texts, and no more than its share', () => {
  const inputs = new WaitingInputs();
  for (let no = 0; no < 100_000; no += 1) inputs.set(jobNo(no), '{"id":1}');
  expect(inputs.bytes / 100_000).toBeLessThan(12);
  const text = 'x'.repeat(SMALL_BYTES);
  let no = 100_000;
  while (inputs.set(jobNo(no), text)) no += 1;
  expect(inputs.bytes).toBeLessThan(33 * 1024 * 1024);
  inputs.delete(jobNo(99_999));
  expect(inputs.get(jobNo(99_998))).toBe('{"id":1}');
});
