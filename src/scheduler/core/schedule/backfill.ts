/** Times of a schedule that have passed, to be run by hand. */
import { Fields } from '../document/reader.ts';
import { momentText, readMoment } from '../document/moment.ts';
import { refuse, refuseSize } from '../document/refuse.ts';
import { instant, later } from '../ids.ts';
import type { Instant } from '../ids.ts';
import type { Calendar } from './schedule.ts';
import type { Schedule } from './state.ts';

/** Jobs that one call starts. */
const BACKFILL_MAX = 1_000;

/** One time, which need not be an occurrence, or all occurrences from one to the other, both included. */
export type BackfillRange =
  | { readonly at: Instant }
  | { readonly from: Instant; readonly to: Instant };

const GRAMMAR = { names: new Set(['at', 'from', 'to']) };

/** From a client. What has not come yet is left to the schedule. */
export function readBackfill(value: unknown, now: Instant): BackfillRange {
  const fields = Fields.of(value, '', 'A backfill', GRAMMAR);
  const time = (name: string): Instant | undefined => {
    const given = fields.raw(name);
    return given === undefined ? undefined : readMoment(given, () => fields.at(name));
  };
  const at = time('at');
  const from = time('from');
  const to = time('to') ?? now;
  if (at !== undefined) {
    if (from !== undefined || fields.raw('to') !== undefined)
      refuse(fields.at('at'), 'It is one time or a range.', 'Give `at`, or `from` and `to`.');
    if (at > now)
      refuse(fields.at('at'), `${momentText(at)} has not come yet.`, 'Wait for it, or use runAt.');
    return { at };
  }
  if (from === undefined) return fields.missing('from', 'Say from which time on.');
  if (from > to)
    refuse(fields.at('to'), `The range ends before it begins, at ${momentText(from)}.`);
  return { from, to: to > now ? now : to };
}

/** Oldest first. Throws `too_large` for more than `BACKFILL_MAX`. */
export function backfillTimes(
  range: BackfillRange,
  schedule: Pick<Schedule, 'spec' | 'nextAt' | 'lastAt'>,
  calendar: Calendar,
): readonly Instant[] {
  if ('at' in range) return [range.at];
  const { endAt } = schedule.spec;
  const to = endAt !== undefined && endAt < range.to ? endAt : range.to;
  const times: Instant[] = [];
  for (const at of occurrences(schedule, range.from, calendar)) {
    if (at > to) break;
    times.push(at);
    if (times.length > BACKFILL_MAX) tooMany(times);
  }
  return times;
}

function* occurrences(
  { spec: { timing }, nextAt, lastAt }: Pick<Schedule, 'spec' | 'nextAt' | 'lastAt'>,
  from: Instant,
  calendar: Calendar,
): Generator<Instant> {
  if ('at' in timing) {
    if (timing.at >= from) yield timing.at;
    return;
  }
  if ('cron' in timing) {
    const next = (after: Instant): Instant | null => calendar.next(timing.cron, timing.zone, after);
    for (let at = next(later(from, -1)); at !== null; at = next(at)) yield at;
    return;
  }
  const { everyMs, anchorAt } = timing;
  // Without an anchor its steps are known from its own times.
  const anchor = anchorAt ?? nextAt ?? lastAt;
  if (anchor === null) return;
  const first = anchorAt !== undefined && anchorAt > from ? anchorAt : from;
  const steps = Math.ceil((first - anchor) / everyMs);
  for (let at = anchor + steps * everyMs; ; at += everyMs) yield instant(at);
}

function tooMany(times: readonly Instant[]): never {
  const [last, next] = [times.at(-2), times.at(-1)].map((at) => momentText(at as Instant));
  refuseSize(
    '/to',
    `The range has more than ${BACKFILL_MAX} scheduled times.`,
    `Ask for it up to ${last}, and then from ${next} on.`,
  );
}
