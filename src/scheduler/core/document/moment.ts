/** Points in time in documents: RFC 3339 text or milliseconds since 1970. The core has no calendar
 * of the platform at hand, and needs only this much of one. */
import { readWhole, type Path } from './reader.ts';
import { refuse } from './refuse.ts';
import { described } from './text.ts';
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

/** The beginning of 2000 and of 2200: what lies outside is a mistake in the unit, or a missing value. */
const START_MIN = 946_684_800_000;
const START_MAX = 7_258_118_400_000;

/** When something is to start. One that has passed means at once. */
export function readStart(value: unknown, path: Path): Instant {
  const at = readMoment(value, path);
  if (at >= START_MIN && at < START_MAX) return at;
  return refuse(
    path(),
    `${described(value)} is not a time to start at.`,
    'Use a time from 2000-01-01T00:00:00Z to 2199-12-31T23:59:59Z; one that has passed means at once.',
  );
}

/** RFC 3339 text, in UTC. */
export function momentText(at: Instant): string {
  const days = Math.floor(at / 86_400_000);
  const ms = at - days * 86_400_000;
  // The inverse of `daysSince1970`: years that start in March, in eras of 400 years.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const dayOfYear = dayOfEra - 365 * yearOfEra - leapDays;
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * month + 2) / 5) + 1;
  const year = era * 400 + yearOfEra + (month >= 10 ? 1 : 0);
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = `${String(year).padStart(4, '0')}-${two(((month + 2) % 12) + 1)}-${two(day)}`;
  const [hour, minute] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const second = two(Math.floor(ms / 1_000) % 60);
  const fraction = String(ms % 1_000).padStart(3, '0');
  return `${date}T${two(hour)}:${two(minute)}:${second}.${fraction}Z`;
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
