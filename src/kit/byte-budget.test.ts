import { describe, expect, test } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

const budget = (): ByteBudget => new ByteBudget({ smallMax: 10, largeMax: 100, largeFrom: 5 });

describe('a budget of bytes', () => {
  test('grants shares until it is used up, and again when one is released', () => {
    const all = budget();
    const [one, two, three] = [all.share(), all.share(), all.share()];
    expect([one.hold(3), one.hold(5), two.hold(5)]).toEqual([true, true, true]);
    expect(three.hold(1)).toBe(false);
    one.release();
    one.release();
    expect([three.hold(5), all.heldBytes]).toEqual([true, 10]);
  });

  test('has separate budgets for small and large shares', () => {
    const all = budget();
    const [large, other, small] = [all.share(), all.share(), all.share()];
    expect([large.hold(4), large.hold(90), other.hold(20)]).toEqual([true, true, false]);
    expect([small.hold(5), other.hold(5), all.heldBytes]).toEqual([true, true, 100]);
    large.release();
    expect([other.hold(20), all.heldBytes]).toEqual([true, 25]);
  });

  test('a refused change leaves a share as it was', () => {
    const all = budget();
    const [one, two] = [all.share(), all.share()];
    expect([one.hold(80), two.hold(4), two.hold(40), all.heldBytes]).toEqual([
      true,
      true,
      false,
      84,
    ]);
  });

  test('grants one share that exceeds the whole budget, alone', () => {
    const all = budget();
    expect(all.share().hold(1_000)).toBe(true);
    expect(all.share().hold(6)).toBe(false);
  });
});
