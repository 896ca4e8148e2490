/** Durations and sizes as people write them: `1500`, `1.5s`, `2h30m`; `65536`, `64KiB`, `1GB`. */
import { parseDuration } from '../../kit/index.ts';

const BYTES: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Whole milliseconds; `undefined` for anything else. A number without a unit is milliseconds. */
export function parseMs(raw: unknown): number | undefined {
  if (typeof raw === 'number') return whole(raw);
  return typeof raw === 'string' ? (parseDuration(raw) ?? undefined) : undefined;
}

/** Whole bytes. `KB` is 1,000 and `KiB` 1,024, as the standard has it; letters may be of either case. */
export function parseBytes(raw: unknown): number | undefined {
  if (typeof raw === 'number') return whole(raw);
  if (typeof raw !== 'string') return undefined;
  const [, digits, unit = ''] =
    /^([+-]?\d{1,16}(?:\.\d{1,9})?)\s*([a-z]*)$/i.exec(raw.trim()) ?? [];
  const factor = unit === '' ? 1 : BYTES[unit.toLowerCase()];
  return digits === undefined || factor === undefined ? undefined : whole(Number(digits) * factor);
}

/** `1.1MB` is 1,100,000 bytes although the product of the two floats may be off by a hair. */
function whole(value: number): number | undefined {
  const near = Math.round(value);
  return Number.isSafeInteger(near) && Math.abs(near - value) < 1e-6 ? near + 0 : undefined;
}

export function showMs(ms: number): string {
  return show(ms, [
    ['d', 24 * 3_600_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ]);
}

export function showBytes(bytes: number): string {
  return show(bytes, [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
    [' bytes', 1],
  ]);
}

/** The largest unit that needs no fraction. */
function show(value: number, units: readonly (readonly [string, number])[]): string {
  const [unit, factor] = units.find(([, each]) => value !== 0 && value % each === 0) ?? ['', 1];
  return `${value / factor}${unit}`;
}
