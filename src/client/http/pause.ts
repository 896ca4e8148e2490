import type { Pace } from './options.ts';

const FIRST_MS = 100;
const LONGEST_MS = 2_000;

/** Doubles from try to try; the jitter keeps many clients from coming back as one. */
export function backOffMs(attempt: number, random: () => number): number {
  const ceilingMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return ceilingMs * (0.5 + random() / 2);
}

/** Ends early, with the signal's reason, when the caller gives up. */
export async function pause(
  ms: number,
  { clock }: Pick<Pace, 'clock'>,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      cancel();
      if (signal !== undefined) reject(reasonOf(signal));
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError');
}
