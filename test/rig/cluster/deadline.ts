import { deferred, systemClock } from '../../../src/kit/index.ts';

/** The answer, or an error that says what was waited for: a test that hangs should name the reason. */
export async function within<T>(
  limitMs: number,
  answer: Promise<T>,
  missing: () => string,
): Promise<T> {
  const late = deferred<never>();
  const cancel = systemClock.after(limitMs, () => {
    late.reject(new Error(`Not within ${limitMs} ms: ${missing()}`));
  });
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    cancel();
  }
}

/** A pause between two tries of something that gives no signal. */
export function pauseMs(ms: number): Promise<void> {
  const over = deferred();
  systemClock.after(ms, over.resolve);
  return over.promise;
}
