import { expect, test } from 'vitest';
import { inPortions, inTurns } from './in-portions.ts';

const numbers = (length: number): number[] => Array.from({ length }, (_, at) => at);

test('answers are those of map, in order', async () => {
  expect(await inPortions([], String)).toEqual([]);
  expect(await inPortions(numbers(2_500), String)).toEqual(numbers(2_500).map(String));
});

test('others have their turn between portions, and a short list takes one turn', async () => {
  const turns = async (length: number): Promise<number> => {
    let [count, isOver] = [0, false];
    const tick = (): void => {
      if (isOver) return;
      count += 1;
      setImmediate(tick);
    };
    setImmediate(tick);
    await inPortions(numbers(length), String);
    isOver = true;
    return count;
  };
  expect(await turns(1_000)).toBe(0);
  expect(await turns(5_000)).toBeGreaterThanOrEqual(4);
});

test('a failure ends it', async () => {
  const work = (at: number): number => {
    if (at === 1_500) throw new Error('broken');
    return at;
  };
  await expect(inPortions(numbers(3_000), work)).rejects.toThrow('broken');
});

test('a generator is finished in turns, and its failure is that of the whole', async () => {
  const turns: string[] = [];
  function* work(): Generator<void, string> {
    for (const turn of ['one', 'two']) {
      turns.push(turn);
      setImmediate(() => turns.push('another'));
      yield;
    }
    return 'done';
  }
  expect(await inTurns(work())).toBe('done');
  expect(turns).toEqual(['one', 'another', 'two', 'another']);
  // oxlint-disable-next-line require-yield -- it fails before it could
  function* broken(): Generator<void, string> {
    throw new Error('broken');
  }
  await expect(inTurns(broken())).rejects.toThrow('broken');
});
