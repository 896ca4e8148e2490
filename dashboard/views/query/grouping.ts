/** What was decided of a stage while the query ran, in words. */
import type { StageGrouping } from '../../../src/scheduler/contract/index.ts';

/** Null if every partition has a task of its own, as planned. `bytes` and `count` write figures for people. */
export function groupingWords(
  grouping: StageGrouping | null,
  bytes: (value: number) => string,
  count: (value: number) => string,
): string | null {
  if (grouping === null) return null;
  const { partitions, tasks, targetBytes, slots } = grouping;
  const split = grouping.skewed.filter((each) => each.tasks > 1);
  if (split.length > 0) {
    const each = split.map(
      (one) =>
        `partition ${one.partition} (${count(one.rows)} rows, ${bytes(one.bytes)}) is split among ${count(one.tasks)} tasks`,
    );
    return `Adapted: ${each.join(', ')}, because it is much larger than the others.`;
  }
  if (tasks >= partitions) return null;
  const readers = tasks === 1 ? '1 task reads' : `${count(tasks)} tasks read`;
  return (
    `Adapted: ${readers} ${count(partitions)} partitions, because all of them are ${bytes(grouping.bytes)}; ` +
    `the aim is ${bytes(targetBytes)} a task, on ${slots === 1 ? '1 slot' : `${count(slots)} slots`}.`
  );
}
