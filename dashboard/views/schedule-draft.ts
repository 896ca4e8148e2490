/** A schedule as a form has it: every field a text. */
import type { Json } from '../../src/scheduler/core/index.ts';

export interface ScheduleDraft {
  readonly kind: 'cron' | 'every' | 'once';
  readonly cron: string;
  readonly zone: string;
  /** Seconds. */
  readonly every: string;
  /** The moment that intervals are counted from; empty for that of the schedule's creation. */
  readonly anchor: string;
  readonly at: string;
  readonly misfire: string;
  readonly overlap: string;
}

type Fields = Readonly<Record<string, Json | undefined>>;

const fields = (value: Json | undefined): Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {};

const text = (value: Json | undefined, other: string): string =>
  typeof value === 'string' ? value : other;

const moment = (value: Json | undefined): string =>
  typeof value === 'number' ? new Date(value).toISOString() : text(value, '');

export function draftOf(spec: Json): ScheduleDraft {
  const { timing, misfire, overlap } = fields(spec);
  const { cron, zone, everyMs, anchorAt, at } = fields(timing);
  return {
    kind: cron !== undefined ? 'cron' : everyMs !== undefined ? 'every' : 'once',
    cron: text(cron, '0 2 * * *'),
    zone: text(zone, 'UTC'),
    every: typeof everyMs === 'number' ? String(everyMs / 1_000) : '60',
    anchor: moment(anchorAt),
    at: moment(at),
    misfire: text(misfire, 'once'),
    overlap: text(overlap, 'skip'),
  };
}

/** What the server is sent, or what is wrong with it. The server checks the rest. */
export function specOf(
  { kind, cron, zone, every, anchor, at, misfire, overlap }: ScheduleDraft,
  job: Readonly<Record<string, unknown>>,
): Json | string {
  const more = { misfire, overlap, ...job } as Readonly<Record<string, Json>>;
  switch (kind) {
    case 'cron':
      return { timing: { cron: cron.trim(), zone: zone.trim() }, ...more };
    case 'every': {
      const everyMs = Math.round(Number(every) * 1_000);
      if (!(everyMs >= 100)) return 'Seconds are a number of at least 0.1.';
      const timing = anchor === '' ? { everyMs } : { everyMs, anchorAt: anchor };
      return { timing, ...more };
    }
    case 'once':
      if (Number.isNaN(Date.parse(at))) return `'${at}' is not a time.`;
      return { timing: { at: at.trim() }, ...more };
  }
}
