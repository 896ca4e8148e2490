import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  piecesFault,
  sizesOf,
  spreadPartitions,
  type Piece,
  type SkewInput,
} from './split-skew.ts';

const MIB = 2 ** 20;
const SKEW = { factor: 5, minBytes: MIB };
const LIMITS = { targetBytes: 64 * MIB, slots: 4 };

/** So many producers have each written an equal share of each partition. */
const input = (
  relation: string,
  bytes: readonly number[],
  producers: number,
  maySplit = true,
): SkewInput => ({
  ...{ relation, stage: 7, maySplit },
  sizes: Array.from({ length: producers }, () => bytes.map((each) => each / producers)),
});

const totals = (inputs: readonly SkewInput[]): readonly number[] =>
  (inputs[0]?.sizes[0] ?? []).map((_, at) =>
    inputs.flatMap(({ sizes }) => sizes).reduce((sum, each) => sum + (each[at] ?? 0), 0),
  );

const spread = (
  inputs: readonly SkewInput[],
  limits = LIMITS,
  skew: typeof SKEW | null = SKEW,
): ReturnType<typeof spreadPartitions> => spreadPartitions(totals(inputs), inputs, limits, skew);

const text = (groups: readonly (readonly Piece[])[]): readonly string[] =>
  groups.map((group) =>
    group
      .map(({ partition, of }) =>
        of === null ? `${partition}` : `${partition}:${of.input.relation}[${of.from},${of.to})`,
      )
      .join(' '),
  );

describe('a partition that is much larger than the others', () => {
  const hot = [2 * MIB, 40 * MIB, 2 * MIB, 2 * MIB];
  const small = [MIB, MIB, MIB, MIB];

  test('is read by several tasks, each with some producers of the larger input', () => {
    const { groups, skewed } = spread([input('a', hot, 4), input('b', small, 4)]);
    expect(text(groups)).toEqual(['0 1:a[0,1)', '1:a[1,2)', '1:a[2,3)', '1:a[3,4) 2 3']);
    expect(skewed).toEqual([{ partition: 1, times: 13.7, tasks: 4, stage: 7 }]);
  });

  test('is split though there are only two of them, if that keeps a slot from waiting', () => {
    const slots = { ...LIMITS, slots: 2 };
    const { groups, skewed } = spread(
      [input('a', [75 * MIB, 25 * MIB], 2), input('b', small.slice(2), 2)],
      slots,
    );
    expect(text(groups)).toEqual(['0:a[0,1)', '0:a[1,2) 1']);
    expect(skewed).toMatchObject([{ partition: 0, tasks: 2 }]);
  });

  test.each([
    ['if it must not be', [input('a', hot, 4, false), input('b', small, 4, false)], null],
    ['if one producer has written all of it', [input('a', hot, 1), input('b', small, 4)], 7],
    [
      'if each task would read the other input, which is larger',
      [
        input('a', hot, 4, false),
        input(
          'b',
          hot.map((each) => each / 20),
          4,
        ),
      ],
      7,
    ],
  ])('is not split %s, but is reported', (_, inputs, stage) => {
    const { groups, skewed } = spread(inputs);
    expect(groups.flat().every(({ of }) => of === null)).toBe(true);
    expect(skewed.map((each) => [each.partition, each.tasks, each.stage])).toEqual([[1, 1, stage]]);
  });

  test.each([
    ['one slot is all there is', LIMITS.targetBytes, 1, SKEW, 0],
    ['it is small all the same', LIMITS.targetBytes, 4, { ...SKEW, minBytes: 50 * MIB }, 0],
    ['it is switched off', LIMITS.targetBytes, 4, null, 0],
  ])('is left whole if %s', (_, targetBytes, slots, skew, reported) => {
    const inputs = [input('a', hot, 4), input('b', small, 4)];
    const { groups, skewed } = spread(inputs, { targetBytes, slots }, skew);
    expect(groups.flat().every(({ of }) => of === null)).toBe(true);
    expect(skewed).toHaveLength(reported);
  });

  test('leaves nobody with producers that have written nothing of it', () => {
    const uneven: SkewInput = {
      ...input('a', hot, 6),
      sizes: [0, 20, 0, 0, 20, 0].map((own) => [MIB / 3, own * MIB, MIB / 3, MIB / 3]),
    };
    const { groups } = spread([uneven, input('b', small, 2, false)]);
    const slices = groups.flat().flatMap(({ of }) => of ?? []);
    expect(slices.map(({ from, to }) => [from, to])).toEqual([
      [0, 4],
      [4, 6],
    ]);
  });
});

const figures = fc.oneof(fc.constant(0), fc.nat(10_000), fc.nat(4 * MIB), fc.nat(900 * MIB));
const anyInputs = fc
  .record({ partitions: fc.integer({ min: 1, max: 20 }), inputs: fc.integer({ min: 1, max: 3 }) })
  .chain(({ partitions, inputs }) =>
    fc.tuple(
      ...Array.from({ length: inputs }, (_, at) =>
        fc.record({
          relation: fc.constant(`r${at}`),
          stage: fc.constant(at),
          maySplit: fc.boolean(),
          sizes: fc.array(fc.array(figures, { minLength: partitions, maxLength: partitions }), {
            minLength: 1,
            maxLength: 6,
          }),
        }),
      ),
    ),
  );

test('every producer of every partition is read exactly once, and other inputs wherever they are needed', () => {
  const limits = fc.record({
    targetBytes: fc.oneof(fc.integer({ min: 1, max: 5_000 }), fc.constantFrom(MIB, 64 * MIB)),
    slots: fc.nat(30),
  });
  const skews = fc.record({ factor: fc.integer({ min: 1, max: 6 }), minBytes: fc.nat(2 * MIB) });
  let split = 0;
  fc.assert(
    fc.property(anyInputs, limits, skews, (inputs, given, skew) => {
      const bytes = totals(inputs);
      const partitions = bytes.length;
      const { groups, skewed } = spreadPartitions(bytes, inputs, given, skew);
      expect(groups.length).toBeLessThanOrEqual(partitions);
      // By input, how often each producer's rows of each partition are read.
      const times = inputs.map(({ sizes }) =>
        sizes.map(() => Array.from({ length: partitions }, () => 0)),
      );
      for (const { partition, of } of groups.flat())
        for (const [at, each] of inputs.entries())
          for (const [producer, counts] of (times[at] ?? []).entries()) {
            const isOut =
              of !== null && of.input === each && (producer < of.from || producer >= of.to);
            if (!isOut) counts[partition] = (counts[partition] ?? 0) + 1;
          }
      const tasksOf = (partition: number): number =>
        groups.flat().filter((piece) => piece.partition === partition).length;
      for (const [at, each] of inputs.entries())
        for (const counts of times[at] ?? [])
          for (const [partition, count] of counts.entries()) {
            const own = groups.flat().find((piece) => piece.partition === partition)?.of ?? null;
            expect(count).toBe(own?.input === each || own === null ? 1 : tasksOf(partition));
          }
      for (const { partition, tasks } of skewed) expect(tasks).toBe(tasksOf(partition));
      for (const { of } of groups.flat()) expect(of?.input.maySplit ?? true).toBe(true);
      if (groups.flat().some(({ of }) => of !== null)) split += 1;
    }),
  );
  expect(split).toBeGreaterThan(5);
});

describe('pieces of three partitions, the second split by three producers', () => {
  const by = input('a', [1, 9, 1], 3);
  const slice = (from: number, to: number): Piece => ({
    partition: 1,
    of: { input: by, from, to },
  });
  const whole = (partition: number): Piece => ({ partition, of: null });
  test.each<[string, readonly (readonly Piece[])[], string | null]>([
    [
      'are right',
      [
        [whole(0), slice(0, 1)],
        [slice(1, 3), whole(2)],
      ],
      null,
    ],
    ['are right if it is whole', [[whole(0), whole(1)], [whole(2)]], null],
    [
      'miss a producer',
      [
        [whole(0), slice(0, 1)],
        [slice(2, 3), whole(2)],
      ],
      'stand where 1 should',
    ],
    [
      'repeat one',
      [
        [whole(0), slice(0, 2)],
        [slice(1, 3), whole(2)],
      ],
      'stand where 2 should',
    ],
    ['end early', [[whole(0), slice(0, 2)], [whole(2)]], 'partition 2 stands where 1 should'],
    ['have too many', [[whole(0), slice(0, 4)], [whole(2)]], 'stand where 0 should'],
    [
      'are empty',
      [
        [whole(0), slice(0, 0)],
        [whole(1), whole(2)],
      ],
      'stand where 0 should',
    ],
    ['are twice in a task', [[whole(0), slice(0, 1), slice(1, 3)], [whole(2)]], 'two pieces'],
    ['split another one', [[slice(0, 1)]], 'partition 1 stands where 0 should'],
    ['are not all', [[whole(0)], [whole(1)]], '2 of 3 partitions are read'],
    ['leave a task without any', [[whole(0)], [], [whole(1), whole(2)]], 'a group is empty'],
    [
      'are split by something else',
      [[whole(0), { partition: 1, of: { input: { ...by }, from: 0, to: 3 } }], [whole(2)]],
      'split by two inputs',
    ],
  ])('%s', (_, groups, fault) => {
    const found = piecesFault(groups, 3, new Map([[1, by]]));
    if (fault === null) expect(found).toBeNull();
    else expect(found).toContain(fault);
  });
});

test('rows that are encoded in next to nothing count nearly as much as others', () => {
  const parts = [
    [
      { rows: 90, bytes: 20 },
      { rows: 0, bytes: 0 },
    ],
    [{ rows: 10, bytes: 180 }],
  ];
  expect(sizesOf(parts)).toEqual([[20 + 90 * 48, 0], [180 + 10 * 48]]);
});
