import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { groupCount, groupPartitions, groupsFault } from './group-partitions.ts';

const KIB = 2 ** 10;
const MIB = 2 ** 20;

describe('partitions are grouped', () => {
  test.each([
    ['little is read by one task', [100, 200, 0, 300], 64 * MIB, 8, [[0, 1, 2, 3]]],
    ['nothing too', [0, 0, 0], 64 * MIB, 8, [[0, 1, 2]]],
    ['a partition alone stays alone', [9 * MIB], 64 * MIB, 8, [[0]]],
    [
      'slots stay busy if each has a MiB',
      [MIB, MIB, MIB, MIB],
      64 * MIB,
      2,
      [
        [0, 1],
        [2, 3],
      ],
    ],
    ['no slot is kept busy with less', [MIB, MIB, 0, 0], 64 * MIB, 4, [[0], [1, 2, 3]]],
    ['not beyond the target', [4, 4, 4, 4, 4], 8, 1, [[0, 1], [2, 3], [4]]],
    ['a large one is not split', [1, 90, 1, 1, 1], 10, 1, [[0], [1], [2], [3], [4]]],
    [
      'more partitions than slots',
      Array.from({ length: 8 }, () => MIB),
      64 * MIB,
      3,
      [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7],
      ],
    ],
  ])('%s', (_, bytes, targetBytes, slots, groups) => {
    expect(groupPartitions(bytes, { targetBytes, slots })).toEqual(groups);
  });

  const sizes = fc.array(
    fc.oneof(fc.constant(0), fc.nat(10 * KIB), fc.nat(4 * MIB), fc.nat(900 * MIB)),
    { minLength: 1, maxLength: 64 },
  );
  const limits = fc.record({
    targetBytes: fc.oneof(fc.integer({ min: 1, max: 5_000 }), fc.constantFrom(MIB, 64 * MIB)),
    slots: fc.nat(100),
  });

  test('so that each is read exactly once, whatever their sizes', () => {
    fc.assert(
      fc.property(sizes, limits, (bytes, given) => {
        const groups = groupPartitions(bytes, given);
        expect(groups.flat()).toEqual([...bytes.keys()]);
        expect(groups.every(({ length }) => length > 0)).toBe(true);
      }),
    );
  });

  test('into as many groups as the work is worth, about equal in size', () => {
    fc.assert(
      fc.property(sizes, limits, (bytes, given) => {
        const groups = groupPartitions(bytes, given);
        expect(groups).toHaveLength(groupCount(bytes, given));
        const total = bytes.reduce((sum, each) => sum + each, 0);
        const worth = Math.floor(total / MIB);
        const atLeast = Math.min(given.slots, worth, bytes.length);
        expect(groups.length).toBeGreaterThanOrEqual(atLeast);
        // Only a large partition makes a group larger than its share.
        const share = total / groups.length;
        const largest = Math.max(...bytes);
        for (const group of groups) {
          const size = group.reduce((sum, at) => sum + (bytes[at] as number), 0);
          expect(size).toBeLessThanOrEqual(share + 2 * largest);
        }
      }),
    );
  });
});

test.each([
  [[[0, 1], [2]], null],
  [[[0], [2]], 'partition 2 stands where 1 should'],
  [
    [
      [0, 1],
      [1, 2],
    ],
    'partition 1 stands where 2 should',
  ],
  [[[0, 1]], '2 of 3 partitions are read'],
  [[[0, 1], [], [2]], 'a group is empty'],
  [[[1, 0], [2]], 'partition 1 stands where 0 should'],
])('groups %j of three partitions: %s', (groups, fault) => {
  expect(groupsFault(groups, 3)).toBe(fault);
});
