/** Numbers formatted for people. */

const BYTES_STEP = 1024;
const BYTES_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= BYTES_STEP - 0.5 && unit < BYTES_UNITS.length - 1) {
    value /= BYTES_STEP;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${BYTES_UNITS[unit]}`;
}

/** `1,234,567` */
export function countText(count: number): string {
  return String(Math.round(count)).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

export function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / SECOND_MS).toFixed(ms < 10 * SECOND_MS ? 2 : 1)} s`;
  const minutes = Math.floor(ms / MINUTE_MS);
  return `${minutes} min ${Math.round((ms - minutes * MINUTE_MS) / SECOND_MS)} s`;
}

export function share(part: number, whole: number): number {
  return whole <= 0 ? 0 : part / whole;
}

/** `1 row`, `2 rows` */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;
}
