/** The longest wish to be left alone. */
const SLOW_DOWN_MS = 1_000;

/** A leader that cannot keep up asks its workers to call less often: how long they should wait, by its pressure from 0 to 1. */
export function quietMs(pressure: number): number {
  return pressure < 0.5 ? 0 : Math.ceil(pressure * SLOW_DOWN_MS);
}
