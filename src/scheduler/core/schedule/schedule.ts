/**
 * When a schedule fires, and what becomes of the times that were missed. Pure: the calendar that
 * knows cron patterns and time zones comes in as a port.
 *
 * An occurrence is on time while it is at most `graceMs` old; on-time ones always fire. Older ones
 * are misfires, and the policy decides:
 *  - `skip`  drops them;
 *  - `once`  fires the latest of them, once for all;
 *  - `all`   fires each of them.
 * At most `catchUpMax` fire in one call, the newest ones, under every policy: what is current
 * matters more than what is old, and a schedule that slept for a year must not flood the cluster.
 * Those left out are counted in `missed` and never come back.
 */
import { instant, later, type Instant } from '../ids.ts';

export interface ScheduleSpec extends ScheduleEnd {
  readonly timing: Timing;
  readonly misfire: Misfire;
  readonly overlap: Overlap;
  /** The raw job document, checked. Each firing submits it again. */
  readonly document: unknown;
  /** The flow that the document was made of, and its input. */
  readonly flow?: string;
  readonly input?: unknown;
  /** It comes from the definition of that flow: see `steps/declare-schedules.ts`. */
  readonly declared?: true;
}

/** Without these it runs for ever. */
export interface ScheduleEnd {
  /** No occurrence after this one is started. */
  readonly endAt?: Instant;
  /** So many occurrences are started; by hand does not count. */
  readonly maxRuns?: number;
}

/** An occurrence if it is before the end of the schedule, which has run so often; otherwise null. */
export function untilEnd(
  { endAt, maxRuns }: ScheduleEnd,
  runs: number,
  at: Instant | null,
): Instant | null {
  if (at === null || (endAt !== undefined && at > endAt)) return null;
  return maxRuns !== undefined && runs >= maxRuns ? null : at;
}

export type Timing = CronTiming | IntervalTiming | OnceTiming;

export interface CronTiming {
  readonly cron: string;
  /** An IANA name such as `Europe/Berlin`. */
  readonly zone: string;
}

export interface IntervalTiming {
  readonly everyMs: number;
  /** Occurrences are whole intervals away from here; without it, from the schedule's creation. */
  readonly anchorAt?: Instant;
}

export interface OnceTiming {
  readonly at: Instant;
}

export const MISFIRES = ['skip', 'once', 'all'] as const;
export type Misfire = (typeof MISFIRES)[number];

/** When a job of the schedule still runs, started by time or by hand: do not start another, start it
 * anyway once that has ended, or cancel the running one. */
export const OVERLAPS = ['skip', 'queue', 'cancel'] as const;
export type Overlap = (typeof OVERLAPS)[number];

export interface Calendar {
  /** The first match strictly after `after`, or null when there is none any more. */
  next(cron: string, zone: string, after: Instant): Instant | null;
  /** What is wrong with the pattern or the zone, as a sentence; null when both are right. */
  check(cron: string, zone: string): string | null;
}

export interface Due {
  /** Oldest first. */
  readonly fire: readonly Instant[];
  /** Occurrences that are dropped for good ... */
  readonly missed: number;
  /** ... or more than that: a cron schedule that slept for long is not counted to the end. */
  readonly missedExact: boolean;
  readonly nextAt: Instant | null;
}

/** The first occurrence of a new schedule. */
export function firstOccurrence(timing: Timing, now: Instant, calendar: Calendar): Instant | null {
  if ('cron' in timing) return calendar.next(timing.cron, timing.zone, now);
  // A time that has passed is not refused here: it is a misfire, for the policy to decide.
  if ('at' in timing) return timing.at;
  const { everyMs, anchorAt } = timing;
  if (anchorAt === undefined) return later(now, everyMs);
  if (anchorAt > now) return anchorAt;
  return later(anchorAt, (Math.floor((now - anchorAt) / everyMs) + 1) * everyMs);
}

/** Where a schedule goes on after a pause: what passed meanwhile is left out, the step is kept, and
 * what has ended stays ended. */
export function resumedOccurrence(
  timing: Timing,
  nextAt: Instant | null,
  now: Instant,
  calendar: Calendar,
): Instant | null {
  if (nextAt === null || nextAt > now) return nextAt;
  if ('at' in timing) return null;
  return firstOccurrence(
    'cron' in timing ? timing : { ...timing, anchorAt: nextAt },
    now,
    calendar,
  );
}

/** The next `count` occurrences from `nextAt` on, for people to look at. */
export function upcomingOccurrences(
  { timing, ...end }: Pick<ScheduleSpec, 'timing' | keyof ScheduleEnd>,
  nextAt: Instant | null,
  count: number,
  calendar: Calendar,
  runs = 0,
): readonly Instant[] {
  const found: Instant[] = [];
  let at = untilEnd(end, runs, nextAt);
  while (at !== null && found.length < count) {
    found.push(at);
    at = untilEnd(end, runs + found.length, following(timing, at, calendar));
  }
  return found;
}

function following(timing: Timing, at: Instant, calendar: Calendar): Instant | null {
  if ('cron' in timing) return calendar.next(timing.cron, timing.zone, at);
  return 'at' in timing ? null : later(at, timing.everyMs);
}

/**
 * What to fire now, given the stored `nextAt`. The work is bounded by `catchUpMax`, however long
 * ago `nextAt` is.
 */
export function dueOccurrences(
  spec: Pick<ScheduleSpec, 'timing' | 'misfire' | 'endAt'>,
  nextAt: Instant,
  now: Instant,
  calendar: Calendar,
  graceMs: number,
  catchUpMax: number,
): Due {
  if (nextAt > now) return { fire: [], missed: 0, missedExact: true, nextAt };
  // What would have come after the end does not come, however late it is now.
  const until = spec.endAt === undefined || spec.endAt > now ? now : spec.endAt;
  const passed = passedOccurrences(spec.timing, nextAt, until, calendar, catchUpMax);
  const fire: Instant[] = [];
  for (const at of passed.newestFirst) {
    const late = now - at > graceMs;
    if (late && spec.misfire === 'skip') break;
    fire.push(at);
    if (fire.length === catchUpMax || (late && spec.misfire === 'once')) break;
  }
  fire.reverse();
  const missed = passed.countBefore(fire[0] ?? later(now, 1));
  return { fire, missed, missedExact: passed.exact, nextAt: passed.nextAt };
}

/** The occurrences from the stored `nextAt` to now. */
interface Passed {
  readonly newestFirst: Iterable<Instant>;
  readonly countBefore: (at: Instant) => number;
  readonly exact: boolean;
  readonly nextAt: Instant | null;
}

function passedOccurrences(
  timing: Timing,
  nextAt: Instant,
  now: Instant,
  calendar: Calendar,
  countMax: number,
): Passed {
  if ('cron' in timing) return passedMatches(timing, nextAt, now, calendar, countMax);
  if ('at' in timing) return listed([nextAt], null);
  const { everyMs } = timing;
  const last = later(nextAt, Math.floor((now - nextAt) / everyMs) * everyMs);
  return {
    newestFirst: backwards(last, nextAt, everyMs),
    countBefore: (at) => Math.ceil((Math.min(at, last + everyMs) - nextAt) / everyMs),
    exact: true,
    nextAt: later(last, everyMs),
  };
}

function* backwards(from: Instant, to: Instant, everyMs: number): Generator<Instant> {
  for (let at = from; at >= to; at = later(at, -everyMs)) yield at;
}

function listed(occurrences: readonly Instant[], nextAt: Instant | null): Passed {
  return {
    newestFirst: occurrences.toReversed(),
    countBefore: (at) => occurrences.filter((each) => each < at).length,
    exact: true,
    nextAt,
  };
}

/** Forwards while they are few; when they are many, the newest ones are found from the end. */
function passedMatches(
  timing: CronTiming,
  nextAt: Instant,
  now: Instant,
  calendar: Calendar,
  countMax: number,
): Passed {
  const { cron, zone } = timing;
  const oldest: Instant[] = [];
  let at: Instant | null = nextAt;
  while (at !== null && at <= now && oldest.length <= countMax) {
    oldest.push(at);
    at = calendar.next(cron, zone, at);
  }
  if (at === null || at > now) return listed(oldest, at);
  return {
    ...listed(oldest, calendar.next(cron, zone, now)),
    newestFirst: matchesBackwards(timing, nextAt, now, calendar),
    exact: false,
  };
}

function* matchesBackwards(
  { cron, zone }: CronTiming,
  from: Instant,
  to: Instant,
  calendar: Calendar,
): Generator<Instant> {
  const next = (after: Instant): Instant | null => calendar.next(cron, zone, after);
  const after = later(from, -1);
  let until = to;
  let spanMs = 1_000;
  for (;;) {
    const at = latestMatch(next, after, until, spanMs);
    if (at === null) return;
    yield at;
    spanMs = Math.max(1_000, until - at);
    until = later(at, -1);
  }
}

/**
 * The latest match in (after, until]. A calendar only looks ahead, so a window before `until` is
 * widened until it holds a match, and then halved until that match is the last one.
 */
function latestMatch(
  next: (after: Instant) => Instant | null,
  after: Instant,
  until: Instant,
  firstSpanMs: number,
): Instant | null {
  let found: Instant | null = null;
  for (let spanMs = firstSpanMs; found === null; spanMs *= 4) {
    const low = instant(Math.max(after, until - spanMs));
    const match = next(low);
    if (match !== null && match <= until) found = match;
    else if (low === after) return null;
  }
  let high = until;
  for (let at = next(found); at !== null && at <= until && at > found; at = next(found)) {
    found = at;
    const middle = instant(Math.floor((found + high) / 2));
    const beyond = next(middle);
    if (beyond !== null && beyond <= until && beyond > found) found = beyond;
    else high = middle;
  }
  return found;
}
