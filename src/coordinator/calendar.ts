/**
 * The calendar behind cron schedules: patterns of five to seven fields or a nickname (`@daily`),
 * read in the wall-clock time of an IANA zone.
 *
 * When the clocks change, as in Vixie cron:
 *  - A pattern with one fixed time of day (`30 2 * * *`) runs once on every matching day. If that
 *    time is skipped in spring it runs at the first moment after the gap; if it comes twice in
 *    autumn it runs the first time.
 *  - Any other pattern (a star, list, range or step in seconds, minutes or hours) follows the
 *    clock: times in the gap do not happen, times that come twice happen twice.
 */
import { Cron } from 'croner';
import { instant, type Calendar, type Instant } from '../core/index.ts';

/** Reading a pattern costs as much as asking it for the next time, so the recent ones are kept. */
const KEPT_MAX = 1_000;
const kept = new Map<string, Cron>();

function patternOf(cron: string, zone: string): Cron {
  const key = `${zone} ${cron}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const pattern = new Cron(cron, { timezone: zone });
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value as string);
  kept.set(key, pattern);
  return pattern;
}

export const cronCalendar: Calendar = {
  next(cron: string, zone: string, after: Instant): Instant | null {
    const next = patternOf(cron, zone).nextRun(new Date(after));
    return next === null ? null : instant(next.getTime());
  },

  check(cron: string, zone: string): string | null {
    if (!isZone(zone)) return `There is no time zone '${zone}'.`;
    try {
      const pattern = new Cron(cron, { timezone: zone });
      // The library also takes a date for a pattern; that is what `at` is for.
      if (pattern.getPattern() === undefined) return `'${cron}' is a date, not a cron pattern.`;
      if (pattern.nextRun(new Date(0)) === null) return `The cron pattern '${cron}' never matches.`;
      return null;
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error);
      return `'${cron}' is not a cron pattern: ${why.replace(/\.$/, '')}.`;
    }
  },
};

/** Names only: whether a bare offset counts as a zone differs between versions of the platform. */
function isZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
