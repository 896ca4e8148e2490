/** Durations as people write them: `1500`, `250ms`, `1.5s`, `2h30m`, `3d`. */
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Milliseconds, or text such as `90s`, `2h30m` or `3d`. */
export type Duration = number | string;

const PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*/iy;

/** Whole milliseconds, or null for any other text. A number without a unit is milliseconds; units may be of either
 * case; a sign is for the whole. */
export function parseDuration(text: string): number | null {
  const [, sign, body = ''] = /^([+-]?)(.*)$/s.exec(text.trim()) ?? [];
  const ms = /^\d+$/.test(body) ? Number(body) : sumOfParts(body);
  if (ms === null) return null;
  // `1.1h` is 3,960,000 ms although the product of the two floats is off by a hair.
  const whole = Math.round(ms);
  if (!Number.isSafeInteger(whole) || Math.abs(whole - ms) > 1e-6) return null;
  return sign === '-' && whole !== 0 ? -whole : whole;
}

function sumOfParts(text: string): number | null {
  if (text === '') return null;
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const part = PART.exec(text);
    if (part === null) return null;
    total += Number(part[1]) * UNIT_MS[part[2]?.toLowerCase() as keyof typeof UNIT_MS];
  }
  return total;
}

/**
 * Null if it is not a duration of 0 or more. A fraction of a millisecond is rounded up, so that no wait is too short.
 */
export function durationMs(duration: Duration): number | null {
  const ms = typeof duration === 'number' ? Math.ceil(duration) : parseDuration(duration);
  return ms !== null && Number.isFinite(ms) && ms >= 0 ? ms + 0 : null;
}
