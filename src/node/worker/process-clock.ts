import { systemClock } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';

/** `performance.now()` counts from the start of each thread, by the clock of `hrtime`. */
const THREAD_STARTED_MS: number = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/** One monotonic time for all threads. */
export const processClock: Clock = {
  monotonicMs: () => performance.now() + THREAD_STARTED_MS,
  after: (ms, fn) => systemClock.after(ms, fn),
};
