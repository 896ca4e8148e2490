import { systemClock } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';

/** One monotonic time for all threads: `performance.now()` counts from the start of each thread. */
export const processClock: Clock = {
  monotonicMs: () => Number(process.hrtime.bigint() / 1_000n) / 1_000,
  after: (ms, fn) => systemClock.after(ms, fn),
};
