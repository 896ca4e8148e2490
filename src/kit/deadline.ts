import type { Clock } from './clock.ts';
import { deferred } from './deferred.ts';

/**
 * The answer, or `late()` as the error when there is none within `ms`. After this process itself was suspended, an
 * answer may already be waiting to be read: it gets one turn of the event loop before the deadline counts.
 */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  answer: Promise<T>,
  late: () => Error,
): Promise<T> {
  const missed = deferred<never>();
  const cancel = clock.after(ms, () => setImmediate(() => missed.reject(late())));
  try {
    return await Promise.race([answer, missed.promise]);
  } finally {
    cancel();
  }
}
