/**
 * Writes points in time as SQL, from the numbers that DuckDB stores. Years with four digits are written as dates; for
 * all others a function takes the number.
 */
import { castTo, type SqlType } from './type.ts';

const DAY_US = 86_400_000_000n;
const FIRST_DAY = -719_162n; // 0001-01-01
const LAST_DAY = 2_932_896n; // 9999-12-31
const INFINITE_DATE = 2_147_483_647n;
const INFINITE_TIMESTAMP = 9_223_372_036_854_775_807n;
/** DuckDB subtracts an offset from this, so that earlier instants sort first. */
const TIME_TZ_OFFSET = 57_599n;

export function dateText(days: bigint): string {
  if (days === INFINITE_DATE) return `CAST('infinity' AS DATE)`;
  if (days === -INFINITE_DATE) return `CAST('-infinity' AS DATE)`;
  return isWritten(days)
    ? `CAST('${calendar(days)}' AS DATE)`
    : `make_date(CAST(${days} AS INTEGER))`;
}

/** `digits` after the second: 6 for microseconds, 9 for nanoseconds. */
export function timeText(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  const seconds = value / unit;
  const two = (part: bigint): string => String(part).padStart(2, '0');
  const clock = `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}`;
  const rest = value % unit;
  return rest === 0n ? clock : `${clock}.${String(rest).padStart(digits, '0')}`;
}

export function timeTzText(bits: bigint): string {
  const offset = TIME_TZ_OFFSET - (bits & 0xffffffn);
  const sign = offset < 0n ? '-' : '+';
  return `${timeText(bits >> 24n, 6)}${sign}${timeText(offset < 0n ? -offset : offset, 0)}`;
}

/** How many units a second has, and the function that takes a number of them. */
const TIMESTAMPS: Readonly<Record<string, { digits: number; make: string }>> = {
  TIMESTAMP: { digits: 6, make: 'make_timestamp' },
  TIMESTAMP_S: { digits: 0, make: 'make_timestamp' },
  TIMESTAMP_MS: { digits: 3, make: 'make_timestamp' },
  TIMESTAMP_NS: { digits: 9, make: 'make_timestamp_ns' },
  'TIMESTAMP WITH TIME ZONE': { digits: 6, make: 'make_timestamptz' },
};

export function timestampText(value: bigint, type: SqlType): string {
  if (value === INFINITE_TIMESTAMP) return castTo(`'infinity'`, type);
  if (value === -INFINITE_TIMESTAMP) return castTo(`'-infinity'`, type);
  const { digits, make } = TIMESTAMPS[type.id] ?? { digits: 6, make: 'make_timestamp' };
  const day = 86_400n * 10n ** BigInt(digits);
  const rest = ((value % day) + day) % day;
  const days = (value - rest) / day;
  if (!isWritten(days)) {
    // Only coarse units exceed what `make_timestamp` takes in microseconds; DuckDB refuses those as well.
    const scaled = digits < 6 ? value * 10n ** BigInt(6 - digits) : value;
    return castTo(`${make}(CAST(${scaled} AS BIGINT))`, type);
  }
  const zone = type.id === 'TIMESTAMP WITH TIME ZONE' ? '+00' : '';
  return castTo(`'${calendar(days)} ${timeText(rest, digits)}${zone}'`, type);
}

export function intervalText(months: bigint, days: bigint, micros: bigint): string {
  const parts = [
    ...(months === 0n ? [] : [`${months} months`]),
    ...(days === 0n ? [] : [`${days} days`]),
    ...(micros === 0n ? [] : [`${micros} microseconds`]),
  ];
  return `INTERVAL '${parts.length === 0 ? '0 days' : parts.join(' ')}'`;
}

function isWritten(days: bigint): boolean {
  return days >= FIRST_DAY && days <= LAST_DAY;
}

/** The days that are written are within the range of a JavaScript Date. */
function calendar(days: bigint): string {
  const text = new Date(Number((days * DAY_US) / 1000n)).toISOString();
  return text.slice(0, 10);
}
