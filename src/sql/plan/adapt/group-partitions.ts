/**
 * Which partitions each task of a stage reads, decided from what the producers have written. Small neighbours are read
 * by one task: a task costs the same however little it has to do.
 */
import { invariant } from '../../../scheduler/core/index.ts';

export interface GroupingLimits {
  /** About what one task should read. */
  readonly targetBytes: number;
  /** Tasks that can run at the same time. */
  readonly slots: number;
}

/** In ascending order, none of them empty. */
export type Groups = readonly (readonly number[])[];

/** With less than this a task costs more than a processor of its own saves. */
const WORTH_BYTES = 2 ** 20;

/**
 * `bytes` are those of each partition over all inputs of the stage. Groups have about the same size and not more than
 * the target, unless a single partition has; and there are as many as slots, if each then has work worth a task.
 */
export function groupPartitions(bytes: readonly number[], limits: GroupingLimits): Groups {
  const groups = neighbours(bytes, groupCount(bytes, limits));
  const fault = groupsFault(groups, bytes.length);
  invariant(fault === null, `partitions are grouped wrongly: ${fault}`);
  return groups;
}

/** How many groups there should be. */
export function groupCount(
  bytes: readonly number[],
  { targetBytes, slots }: GroupingLimits,
): number {
  const total = sumOf(bytes);
  const bySize = Math.ceil(total / targetBytes);
  const worth = Math.floor(total / Math.min(WORTH_BYTES, targetBytes));
  return Math.max(1, Math.min(bytes.length, Math.max(bySize, Math.min(slots, worth))));
}

/** What is wrong with groups of that many partitions; null if each partition is read exactly once. */
export function groupsFault(groups: Groups, partitions: number): string | null {
  let next = 0;
  for (const group of groups) {
    if (group.length === 0) return 'a group is empty';
    for (const partition of group) {
      if (partition !== next) return `partition ${partition} stands where ${next} should`;
      next += 1;
    }
  }
  return next === partitions ? null : `${next} of ${partitions} partitions are read`;
}

/** Exactly `count` groups. Each is closed where it is nearest to its share of what is left. */
export function neighbours(bytes: readonly number[], count: number): Groups {
  const groups: number[][] = [[]];
  let [size, left] = [0, sumOf(bytes)];
  for (const [at, next] of bytes.entries()) {
    const more = count - groups.length;
    const share = left / (more + 1);
    const isFull = bytes.length - at === more || size + next / 2 > share;
    if (more > 0 && isFull && groups.at(-1)?.length !== 0) {
      left -= size;
      size = 0;
      groups.push([]);
    }
    groups.at(-1)?.push(at);
    size += next;
  }
  return groups;
}

function sumOf(list: readonly number[]): number {
  return list.reduce((sum, each) => sum + each, 0);
}
