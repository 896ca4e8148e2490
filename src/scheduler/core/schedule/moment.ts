/** Points in time in documents: RFC 3339 text or milliseconds since 1970. The core has no calendar
 * of the platform at hand, and needs only this much of one. */
import { readWhole, type Path } from '../document/reader.ts';
import { refuse } from '../document/refuse.ts';
import { described } from '../document/text.ts';
import { instant, type Instant } from '../ids.ts';

const RFC_3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** The end of the year 9999: the last that RFC 3339 can write. */
const LAST = 253_402_300_799_999;

export function readMoment(value: unknown, path: Path): Instant {
  if (typeof value === 'number') return instant(readWhole(value, path, 0, LAST));
  const at = typeof value === 'string' ? parseMoment(value) : null;
  if (at !== null && at >= 0 && at <= LAST) return instant(at);
  return refuse(
    path(),
    `${described(value)} is not a valid point in time.`,
    "Use '2026-11-15T02:00:00Z', with Z or an offset such as +01:00, or milliseconds since 1970.",
  );
}

/** Milliseconds since 1970, or null when the text is not a RFC 3339 date and time. */
function parseMoment(text: string): number | null {
  const parts = RFC_3339.exec(text);
  if (parts === null) return null;
  const part = (group: number): number => Number(parts[group] ?? 0);
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  const [offsetHour, offsetMinute] = [part(9), part(10)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null;
  const ms = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  const offset = (offsetHour * 60 + offsetMinute) * (parts[8] === '-' ? -1 : 1);
  return (
    ((daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset) * 60_000 +
    second * 1_000 +
    ms
  );
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Counts in years that start in March, so that the leap day is the last of its year. */
function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400);
  return shifted * 365 + leapDays + dayOfYear - 719_468;
}
