import { describe, expect, test } from 'vitest';
import { deferred } from './deferred.ts';
import { eachOf } from './each-of.ts';
import { settled } from './virtual-clock.ts';

describe('work on each of a list', () => {
  test('answers in the order of the items, whichever ends first', async () => {
    const slow = deferred<string>();
    const all = eachOf(['a', 'b', 'c'], 3, undefined, async (item, at) => {
      if (item === 'a') return slow.promise;
      if (item === 'c') slow.resolve('A0');
      return `${item.toUpperCase()}${at}`;
    });
    expect(await all).toEqual(['A0', 'B1', 'C2']);
    expect(await eachOf([], 3, undefined, () => Promise.reject(new Error('called')))).toEqual([]);
  });

  test('has no more under way than allowed', async () => {
    const gates = Array.from({ length: 5 }, () => deferred<number>());
    const begun: number[] = [];
    const all = eachOf(gates, 2, undefined, (gate, at) => {
      begun.push(at);
      return gate.promise;
    });
    await settled();
    expect(begun).toEqual([0, 1]);
    gates[1]?.resolve(1);
    await settled();
    expect(begun).toEqual([0, 1, 2]);
    for (const [at, gate] of gates.entries()) gate.resolve(at);
    expect(await all).toEqual([0, 1, 2, 3, 4]);
  });

  test('after a failure begins nothing more, and throws once the rest has ended', async () => {
    const other = deferred();
    const begun: number[] = [];
    const all = eachOf([0, 1, 2, 3], 2, undefined, async (item) => {
      begun.push(item);
      if (item === 1) throw new Error('first in time');
      await other.promise;
      throw new Error('first in the list');
    });
    let hasEnded = false;
    const seen = all.catch((error: unknown) => {
      hasEnded = true;
      return error;
    });
    await settled();
    expect(hasEnded).toBe(false);
    other.resolve();
    expect(await seen).toEqual(new Error('first in time'));
    expect(begun).toEqual([0, 1]);
  });

  test('ends with the reason of whoever aborts it, not with what came of that', async () => {
    const abort = new AbortController();
    const begun: number[] = [];
    const reason = new Error('enough');
    const all = eachOf([0, 1, 2], 1, abort.signal, async (item) => {
      begun.push(item);
      abort.abort(reason);
      if (item === 0) throw new Error('the socket was closed');
    });
    await expect(all).rejects.toBe(reason);
    expect(begun).toEqual([0]);
    await expect(eachOf([0], 1, abort.signal, () => Promise.resolve())).rejects.toBe(reason);
  });
});
