import type { Clock } from './clock.ts';

/** Resolves after `ms`. Rejects with the signal's reason as soon as the signal aborts. */
export async function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await sleepOrAbort(clock, ms, signal);
  signal?.throwIfAborted();
}

/** Resolves after `ms` or when the signal aborts, whichever comes first. The caller checks which it was. */
export function sleepOrAbort(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true || ms <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
