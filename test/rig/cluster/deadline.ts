import { sleep, systemClock, withDeadline } from '../../../src/kit/index.ts';

/** The answer, or an error that says what was waited for: a test that hangs should name the reason. */
export function within<T>(limitMs: number, answer: Promise<T>, missing: () => string): Promise<T> {
  const late = (): Error => new Error(`Not within ${limitMs} ms: ${missing()}`);
  return withDeadline(systemClock, limitMs, answer, late);
}

/** A pause between two tries of something that gives no signal. */
export function pauseMs(ms: number): Promise<void> {
  return sleep(systemClock, ms);
}
