/** Whether a side of a join was broadcast because of its size, in words. */
import type { StageJoin } from '../../../src/scheduler/contract/index.ts';

/** Null if it ran as planned. `bytes` and `count` write figures for people. */
export function joinWords(
  join: StageJoin | null,
  bytes: (value: number) => string,
  count: (value: number) => string,
): string | null {
  if (join === null || !join.isBroadcast) return null;
  const { build, probe, rows } = join;
  const size = `${rows === 1 ? '1 row' : `${count(rows)} rows`}, ${bytes(join.bytes)}`;
  return `Adapted: every task has all of stage ${build} (${size}), and stage ${probe} is not exchanged.`;
}
