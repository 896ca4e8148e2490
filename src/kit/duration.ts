/** Lengths of time as people write them. */
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds, or text such as `90s`, `2h30m` or `3d`. */
export type Duration = number | string;

const PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*/y;

/** Null when it is not one. A fraction of a millisecond is rounded up: nobody waits too short. */
export function durationMs(duration: Duration): number | null {
  if (typeof duration === 'number') {
    return Number.isFinite(duration) && duration >= 0 ? Math.ceil(duration) : null;
  }
  const text = duration.trim();
  if (text === '') return null;
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const part = PART.exec(text);
    if (part === null) return null;
    total += Number(part[1]) * UNIT_MS[part[2] as keyof typeof UNIT_MS];
  }
  return Number.isFinite(total) ? Math.ceil(total) : null;
}
