import { describe, expect, test } from 'vitest';
import { instant } from '../core/index.ts';
import { DatabaseTime } from './database-time.ts';

/** A monotonic clock to be set by hand, and a database that started 1000 ms before it. */
function setUp(): { time: DatabaseTime; at: (ms: number) => number } {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs, after: () => () => {} };
  const time = new DatabaseTime(clock, instant(1_000));
  const at = (ms: number): number => {
    nowMs = ms;
    return time.now();
  };
  return { time, at };
}

describe('the time of the database', () => {
  test('advances between two answers', () => {
    const { at } = setUp();
    expect([at(0), at(10), at(250)]).toEqual([1_000, 1_010, 1_250]);
  });

  test('is not set back by a slow answer', () => {
    const { time, at } = setUp();
    at(5_000);
    // Asked at 1000 and answered from the database at 2001, but heard only now.
    time.heard(instant(2_001), 1_000);
    expect([at(5_000), at(6_000)]).toEqual([6_000, 7_000]);
  });

  test('does not leap after such an answer, so no lease ends early', () => {
    const { time, at } = setUp();
    at(5_000);
    time.heard(instant(2_001), 1_000);
    const given = at(6_000);
    time.heard(instant(7_005), 6_000);
    expect(at(7_000) - given).toBeLessThanOrEqual(1_005);
  });

  test('follows the database when its own clock is slow, and waits when it is fast', () => {
    const { time, at } = setUp();
    at(1_000);
    time.heard(instant(2_100), 1_000);
    expect(at(1_000)).toBe(2_100);
    at(2_000);
    time.heard(instant(3_000), 2_000);
    expect([at(2_000), at(2_100), at(2_200)]).toEqual([3_100, 3_100, 3_200]);
  });

  test('never goes back', () => {
    const { time, at } = setUp();
    const before = at(1_000);
    time.heard(instant(500), 999);
    expect(at(1_000)).toBe(before);
  });
});
