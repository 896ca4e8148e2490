/**
 * The calendar behind cron schedules: patterns of five to seven fields or a nickname (`@daily`),
 * read in the wall-clock time of an IANA zone.
 *
 * When the clocks change, as in Vixie cron:
 *  - A pattern with one fixed time of day (`30 2 * * *`) runs once on every matching day. If that
 *    time is skipped in spring it runs at the first moment after the gap, if that is on the same
 *    day; if it comes twice in autumn it runs the first time.
 *  - Any other pattern (a star, list, range or step in seconds, minutes or hours) follows the
 *    clock: times in the gap do not happen, times that come twice happen twice.
 */
import { LruCache } from '../../kit/index.ts';
import { Cron } from 'croner';
import { instant, type Calendar, type Instant } from '../core/index.ts';

/** Asking takes some 50 microseconds, and many schedules share a pattern: midnight comes for all
 * of them at once. So the recent patterns are kept, with their recent answers. */
const KEPT_MAX = 1_000;
const ANSWERS_MAX = 8;
const kept = new LruCache<string, KnownPattern>({ max: KEPT_MAX });

interface KnownPattern {
  readonly pattern: Cron;
  isChecked: boolean;
  /** `at` is the next time for every moment from `after` until then; null when there is none. */
  readonly answers: { readonly after: Instant; readonly at: Instant | null }[];
}

const keyOf = (cron: string, zone: string): string => `${zone} ${cron}`;

function patternOf(cron: string, zone: string): KnownPattern {
  const key = keyOf(cron, zone);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = { pattern: new Cron(cron, { timezone: zone }), isChecked: false, answers: [] };
  kept.set(key, made);
  return made;
}

export const cronCalendar: Calendar = {
  next(cron: string, zone: string, after: Instant): Instant | null {
    const { pattern, answers } = patternOf(cron, zone);
    const known = answers.find((each) => each.after <= after && (each.at ?? Infinity) > after);
    if (known !== undefined) return known.at;
    const next = pattern.nextRun(new Date(after));
    const at = next === null ? null : instant(next.getTime());
    if (answers.length === ANSWERS_MAX) answers.shift();
    answers.push({ after, at });
    return at;
  },

  check(cron: string, zone: string): string | null {
    if (kept.get(keyOf(cron, zone))?.isChecked === true) return null;
    if (!isZone(zone)) return `'${zone}' is not a valid time zone.`;
    try {
      const known = patternOf(cron, zone);
      const { pattern } = known;
      // The library also takes a date for a pattern; that is what `at` is for.
      if (pattern.getPattern() === undefined) return `'${cron}' is a date, not a cron pattern.`;
      if (pattern.nextRun(new Date(0)) === null) return `The cron pattern '${cron}' never matches.`;
      known.isChecked = true;
      return null;
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error);
      return `'${cron}' is not a valid cron pattern: ${why.replace(/\.$/, '')}.`;
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
