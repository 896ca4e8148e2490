/**
 * Splits partitions that are much larger than the others. Such a partition is read by several tasks: each reads the rows of
 * some producers from one input, and all of that partition from every other input. Splitting by producer needs
 * nothing but what is there, and it stays right when an output is recomputed: the rows of a producer are the same then,
 * their order need not be.
 */
import { invariant } from '../../../scheduler/core/index.ts';
import type { SkewLimits } from '../physical/plan.ts';
import {
  type GroupingLimits,
  groupCount,
  groupPartitions,
  neighbours,
} from './group-partitions.ts';

/** An input of the stage. */
export interface SkewInput {
  readonly relation: string;
  /** The stage that has written it. */
  readonly stage: number;
  readonly maySplit: boolean;
  /** By producer, by partition: see `sizesOf`. */
  readonly sizes: readonly (readonly number[])[];
}

/** What a task reads of a partition. */
export interface Piece {
  readonly partition: number;
  /** Of this input only the rows of the producers `from` up to but not including `to`; null if it reads all of it. */
  readonly of: { readonly input: SkewInput; readonly from: number; readonly to: number } | null;
}

/** A partition that was too large for one task. */
export interface SkewedPartition {
  readonly partition: number;
  /** How many times the median of all partitions it is; null if that is 0. */
  readonly times: number | null;
  /** That read it: one if it was not split. */
  readonly tasks: number;
  /** The stage by whose producers it is split; null if its operators need all of its rows together. */
  readonly stage: number | null;
}

export interface Spread {
  /** By group: none is empty. Pieces are in the order of partitions, and of producers within a partition. */
  readonly groups: readonly (readonly Piece[])[];
  readonly skewed: readonly SkewedPartition[];
}

/** A partition is too large, too, if a slot has this much more to do because of it: of few partitions the median says little. */
const OVER_SHARE = 1.25;
/** A split reads rows of other inputs several times. It must save more than it costs. */
const WORTH = 0.9;

/** What a row costs to join or to hash, in bytes that could be read meanwhile. */
const ROW_BYTES = 48;

/**
 * What one producer's rows of one partition count for, in bytes. Bytes alone would say little: the rows of a single key are
 * encoded in next to nothing, and so are the keys that they are joined with, but they are as much work as any others.
 */
export function sizesOf(
  parts: readonly (readonly { readonly bytes: number; readonly rows: number }[])[],
): readonly (readonly number[])[] {
  return parts.map((producer) => producer.map(({ bytes, rows }) => bytes + rows * ROW_BYTES));
}

/** `bytes` are those of each partition over all inputs, as measured. */
export function spreadPartitions(
  bytes: readonly number[],
  inputs: readonly SkewInput[],
  limits: GroupingLimits,
  skew: SkewLimits | null,
): Spread {
  const whole = groupPartitions(bytes, limits).map((group) =>
    group.map((partition): Piece => ({ partition, of: null })),
  );
  const sizes = [...bytes.keys()].map((at) =>
    sumOf(inputs.flatMap((input) => input.sizes.map((producer) => producer[at] ?? 0))),
  );
  const over = skew === null ? [] : tooLarge(sizes, limits.slots, skew);
  if (over.length === 0) return { groups: whole, skewed: [] };
  const byPartition = new Map(
    over.flatMap((partition) => {
      const input = largest(inputs, partition);
      return input === null ? [] : [[partition, input] as const];
    }),
  );
  const split = splitGroups(sizes, byPartition, groupCount(sizes, limits));
  const pays = longest(split, sizes, limits.slots) <= WORTH * longest(whole, sizes, limits.slots);
  const groups = pays ? split : whole;
  const usual = median(sizes);
  const skewed = over.map((partition) => ({
    partition,
    times: usual === 0 ? null : Math.round((10 * (sizes[partition] as number)) / usual) / 10,
    tasks: groups.filter((group) => group.some((piece) => piece.partition === partition)).length,
    stage: byPartition.get(partition)?.stage ?? null,
  }));
  // A large partition that delays nothing is not reported.
  const share = slotShare(sizes, limits.slots);
  const isWorth = ({ partition, tasks }: SkewedPartition): boolean =>
    tasks > 1 || (sizes[partition] as number) > share;
  return { groups, skewed: skewed.filter(isWorth) };
}

function slotShare(bytes: readonly number[], slots: number): number {
  return (OVER_SHARE * sumOf(bytes)) / Math.max(1, slots);
}

function tooLarge(
  bytes: readonly number[],
  slots: number,
  { factor, minBytes }: SkewLimits,
): readonly number[] {
  if (bytes.length === 1) return [];
  const usual = factor * median(bytes);
  const share = slotShare(bytes, slots);
  return [...bytes.keys()].filter((at) => {
    const own = bytes[at] as number;
    return own >= minBytes && (own > usual || own > share);
  });
}

/** The lower one of two. */
function median(bytes: readonly number[]): number {
  return bytes.toSorted((a, b) => a - b)[Math.floor((bytes.length - 1) / 2)] ?? 0;
}

/** The input by which a partition is split: the one that has the most of it. */
function largest(inputs: readonly SkewInput[], partition: number): SkewInput | null {
  const own = ({ sizes }: SkewInput): number => sumOf(sizes.map((each) => each[partition] ?? 0));
  const able = inputs.filter((input) => input.maySplit && own(input) > 0);
  return able.toSorted((a, b) => own(b) - own(a))[0] ?? null;
}

/** Groups neighbours, where the producers of a partition that may be split are neighbours as well. */
function splitGroups(
  bytes: readonly number[],
  byPartition: ReadonlyMap<number, SkewInput>,
  count: number,
): readonly (readonly Piece[])[] {
  const items = [...bytes.keys()].flatMap((partition) => {
    const input = byPartition.get(partition);
    return input === undefined
      ? [{ piece: { partition, of: null }, bytes: bytes[partition] as number }]
      : producerItems(partition, input, bytes[partition] as number);
  });
  const groups = neighbours(
    items.map((item) => item.bytes),
    count,
  ).map((group) => merged(group.map((at) => items[at]?.piece as Piece)));
  const fault = piecesFault(groups, bytes.length, byPartition);
  invariant(fault === null, `partitions are split wrongly: ${fault}`);
  return groups;
}

/** One for each producer that has rows; those that have none belong to the one before. */
function producerItems(
  partition: number,
  input: SkewInput,
  total: number,
): readonly { readonly piece: Piece; readonly bytes: number }[] {
  const own = input.sizes.map((producer) => producer[partition] ?? 0);
  const ofInput = sumOf(own);
  const filled = [...own.keys()].filter((at) => (own[at] as number) > 0);
  const starts = [0, ...filled.slice(1)];
  return starts.map((from, at) => {
    const to = starts[at + 1] ?? own.length;
    const share = sumOf(own.slice(from, to)) / ofInput;
    return { piece: { partition, of: { input, from, to } }, bytes: total * share };
  });
}

/** Neighbouring producers of a partition are one piece, and all of them are the whole partition. */
function merged(pieces: readonly Piece[]): readonly Piece[] {
  const list: Piece[] = [];
  for (const { partition, of } of pieces) {
    const last = list.at(-1);
    const isMore = last !== undefined && last.partition === partition;
    if (isMore) list.pop();
    const from = (isMore ? last.of?.from : of?.from) ?? 0;
    const isWhole = of === null || (from === 0 && of.to === of.input.sizes.length);
    list.push({ partition, of: isWhole ? null : { ...of, from } });
  }
  return list;
}

/** What is wrong with the pieces; null if every producer's rows of every partition are read exactly once. */
export function piecesFault(
  groups: readonly (readonly Piece[])[],
  partitions: number,
  byPartition: ReadonlyMap<number, SkewInput>,
): string | null {
  let [next, producer] = [0, 0];
  for (const group of groups) {
    if (group.length === 0) return 'a group is empty';
    if (new Set(group.map(({ partition }) => partition)).size < group.length)
      return 'a group has two pieces of one partition';
    for (const { partition, of } of group) {
      if (partition !== next) return `partition ${partition} stands where ${next} should`;
      const producers = byPartition.get(partition)?.sizes.length ?? 1;
      if (of !== null && of.input !== byPartition.get(partition))
        return `partition ${partition} is split by two inputs`;
      const { from, to } = of ?? { from: 0, to: producers };
      if (from !== producer || to <= from || to > producers)
        return `producers ${from} to ${to} of partition ${partition} stand where ${producer} should`;
      [next, producer] = to === producers ? [next + 1, 0] : [next, to];
    }
  }
  return next === partitions ? null : `${next} of ${partitions} partitions are read`;
}

/** About how long a stage takes, in bytes that one slot reads: its largest task, or all of it if the slots are busy. */
function longest(
  groups: readonly (readonly Piece[])[],
  bytes: readonly number[],
  slots: number,
): number {
  const sizes = groups.map((group) => sumOf(group.map((piece) => sizeOf(piece, bytes))));
  return Math.max(...sizes, sumOf(sizes) / Math.max(1, slots));
}

function sizeOf({ partition, of }: Piece, bytes: readonly number[]): number {
  const all = bytes[partition] as number;
  if (of === null) return all;
  const left = of.input.sizes.filter((_, at) => at < of.from || at >= of.to);
  return all - sumOf(left.map((producer) => producer[partition] ?? 0));
}

function sumOf(list: readonly number[]): number {
  return list.reduce((sum, each) => sum + each, 0);
}
