/** Schedules as people read them. */
import type { ScheduleShape } from '../scheduler/contract/index.ts';
import { table } from './table.ts';
import { shortened, span } from './wording.ts';

const NEXT_SHOWN = 3;

/** The server says when it will run next, as far as it knows. */
type Shown = ScheduleShape & { readonly upcoming?: readonly string[] };

export function scheduleLines(schedules: readonly ScheduleShape[]): string[] {
  if (schedules.length === 0) {
    return ['No schedules. Create one with `millrace schedules create ID FILE --cron ...`.'];
  }
  return table(
    [
      'SCHEDULE',
      'TIMING',
      'ZONE',
      'MISSED',
      'OVERLAP',
      'STATE',
      'NEXT',
      'LAST',
      'LAST JOB',
      'DECLARED BY',
    ],
    (schedules as readonly Shown[]).flatMap((schedule) => {
      const { id, paused, nextAt, lastAt, lastJob } = schedule;
      const { timing, zone, misfire, overlap } = wordsOf(schedule);
      const state = nextAt === null ? 'ended' : paused ? 'paused' : 'active';
      const [first = null, ...later] = paused ? [] : runsOf(schedule);
      const by = declaring(schedule);
      const row = [id, timing, zone, misfire, overlap, state, first, lastAt, lastJob, by];
      return [row, ...later.map((at) => ['', '', '', '', '', '', at, '', '', ''])];
    }),
  );
}

/** The flow that has it in its definition. */
function declaring({ spec }: ScheduleShape): string | null {
  const { declared, flow } = fieldsOf(spec);
  return declared === true && typeof flow === 'string' ? flow : null;
}

function runsOf({ nextAt, upcoming = [] }: Shown): readonly string[] {
  const runs = upcoming.length > 0 ? upcoming : nextAt === null ? [] : [nextAt];
  return runs.slice(0, NEXT_SHOWN);
}

interface Words {
  readonly timing: string;
  readonly zone: string | null;
  readonly misfire: string | null;
  readonly overlap: string | null;
}

/** A newer version may have put something else there: unknown values are shown as they are. */
function wordsOf({ spec }: ScheduleShape): Words {
  const { timing, misfire, overlap } = fieldsOf(spec);
  const { cron, zone, everyMs, at } = fieldsOf(timing);
  const word = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  const text =
    word(cron) ??
    (typeof everyMs === 'number'
      ? `every ${span(everyMs)}`
      : at === undefined
        ? shortened(JSON.stringify(timing ?? '-'), 40)
        : 'once');
  return { timing: text, zone: word(zone), misfire: word(misfire), overlap: word(overlap) };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
