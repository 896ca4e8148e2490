/** Waiting in tests for what gives no signal: it is asked again and again, up to a limit. */
import { systemClock } from '../../src/kit/index.ts';
import { pauseMs, within } from './cluster/deadline.ts';

const TURN_MS = 40;

/** Returns the first value that is neither absent nor false; fails at the limit and says what is missing. */
export async function until<T>(
  look: () => Promise<T | null | undefined | false>,
  missing: string,
  limitMs = 60_000,
): Promise<T> {
  let isOver = false;
  const found = async (): Promise<T> => {
    for (;;) {
      const seen = await look();
      if (seen !== null && seen !== undefined && seen !== false) return seen;
      if (isOver) throw new Error(missing);
      await pauseMs(TURN_MS);
    }
  };
  try {
    return await within(limitMs, found(), () => missing);
  } finally {
    isOver = true;
  }
}

/** Resolves when the check no longer throws; fails at the limit with its last error. */
export async function expectSoon<T>(
  check: () => Promise<T>,
  limitMs = 60_000,
  more: () => string = () => '',
): Promise<T> {
  const untilMs = systemClock.monotonicMs() + limitMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (systemClock.monotonicMs() < untilMs) await pauseMs(TURN_MS);
      else throw new Error(`Not within ${limitMs} ms. ${more()}`, { cause: error });
    }
  }
}
