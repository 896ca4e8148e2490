/** Schedules as documents and as rows: checked on the way in, trusted on the way back. */
import { parseJobDocument } from '../document/parse.ts';
import { DURATION_MS_MAX } from '../document/grammar.ts';
import { Fields } from '../document/reader.ts';
import { refuse } from '../document/refuse.ts';
import { MillraceError, isMillraceError } from '../errors.ts';
import { canonicalJson } from '../json.ts';
import type { Json } from '../json.ts';
import type { Settings } from '../settings.ts';
import { readMoment } from '../document/moment.ts';
import { MISFIRES, OVERLAPS } from './schedule.ts';
import type { Calendar, ScheduleEnd, ScheduleSpec, Timing } from './schedule.ts';

const RUNS_MAX = 1_000_000_000;
/** Shorter intervals are a stream, not a schedule. */
const EVERY_MS_MIN = 100;

const TIMING = { names: new Set(['cron', 'zone', 'everyMs', 'anchorAt', 'at']) };
const OWN = [
  'timing',
  'misfire',
  'overlap',
  'endAt',
  'maxRuns',
  'runs',
  'document',
  'flow',
  'input',
  'declared',
];
const SPEC = { names: new Set([...OWN, ...TIMING.names]) };
const CRON = { names: new Set(['cron', 'zone']) };
const INTERVAL = { names: new Set(['everyMs', 'anchorAt']) };
const ONCE = { names: new Set(['at']) };

/** A pattern that is right in every zone, to tell a wrong zone from a wrong pattern. */
const MIDNIGHT = '0 0 * * *';

export function parseScheduleSpec(
  value: unknown,
  settings: Settings,
  calendar: Calendar,
  path = '',
): ScheduleSpec {
  const fields = Fields.of(value, path, 'A schedule', SPEC);
  const timing = timingIn(fields, path);
  const spec = readSpec(fields, timing);
  if ('cron' in spec.timing) checkCron(spec.timing, timing.path, calendar);
  const document = parseJobDocument(spec.document, settings, fields.at('document'));
  if (document.idempotencyKey !== null) {
    refuse(
      `${fields.at('document')}/idempotencyKey`,
      'A scheduled job cannot have an idempotency key: its second run would return the first job.',
      'Remove it; every run gets its own key.',
    );
  }
  if (document.runAt !== null) {
    refuse(
      `${fields.at('document')}/runAt`,
      'A scheduled job cannot have a time to start at: the schedule says when it runs.',
      'Remove it.',
    );
  }
  if (document.options.debounce !== null) {
    refuse(
      `${fields.at('document')}/debounce`,
      'A scheduled job cannot be debounced: the schedule says when it runs.',
      'Remove it.',
    );
  }
  if (document.options.batch !== null) {
    refuse(
      `${fields.at('document')}/batch`,
      'A scheduled job cannot be part of a batch: the schedule says when it runs.',
      'Remove it.',
    );
  }
  const keyed = document.tasks.findIndex((task) => task.idempotencyKey !== null);
  if (keyed >= 0) {
    refuse(
      `${fields.at('document')}/tasks/${keyed}/idempotencyKey`,
      'A task of a scheduled job cannot have an idempotency key: its second run would return the first result.',
      'Remove it; every run executes its tasks.',
    );
  }
  // A copy, so that later changes of the caller's object have no effect here.
  return JSON.parse(JSON.stringify(spec)) as ScheduleSpec;
}

function readSpec(fields: Fields, timing: TimingPart): ScheduleSpec {
  if (fields.raw('document') === undefined)
    fields.missing('document', 'Give the job to submit, or the name of a flow in `flow`.');
  const misfire = fields.choice('misfire', MISFIRES) ?? 'once';
  return {
    timing: readTiming(timing),
    misfire,
    // Times that are made up for come all at once: to run each, they have to wait for each other.
    overlap: fields.choice('overlap', OVERLAPS) ?? (misfire === 'all' ? 'queue' : 'skip'),
    ...endIn(fields),
    document: fields.raw('document'),
    ...flowIn(fields),
    ...(fields.raw('declared') === true ? { declared: true } : {}),
  };
}

function endIn(fields: Fields): ScheduleEnd {
  const endAt = fields.raw('endAt');
  const maxRuns = fields.whole('maxRuns', { min: 1, max: RUNS_MAX });
  // Shown with a schedule, and sent back with it: how often it has run is for the leader to say.
  fields.whole('runs', { min: 0, max: RUNS_MAX });
  return {
    ...(endAt === undefined ? {} : { endAt: readMoment(endAt, () => fields.at('endAt')) }),
    ...(maxRuns === null ? {} : { maxRuns }),
  };
}

/** The leader has made the document of it. */
function flowIn(fields: Fields): Pick<ScheduleSpec, 'flow' | 'input'> {
  const flow = fields.name('flow');
  const input = fields.raw('input');
  if (flow === undefined && input !== undefined)
    refuse(fields.at('input'), 'There is no flow that takes it.', 'Name one in `flow`.');
  return {
    ...(flow === undefined ? {} : { flow }),
    ...(input === undefined ? {} : { input }),
  };
}

/** Where the timing stands, and its fields as one of its kinds has them. */
interface TimingPart {
  readonly path: string;
  readonly as: (kind: { readonly names: ReadonlySet<string> }) => Fields;
}

const HOW_TO = 'Use { cron, zone }, { everyMs } or { at }.';

/** In a field of its own, or beside the others: `{ cron, document }`. */
function timingIn(spec: Fields, path: string): TimingPart {
  const beside = [...TIMING.names].filter((name) => spec.raw(name) !== undefined);
  const [first] = beside;
  if (first === undefined) {
    return {
      path: spec.at('timing'),
      as: (kind) => spec.inner('timing', kind) ?? spec.missing('timing', HOW_TO),
    };
  }
  if (spec.raw('timing') !== undefined)
    refuse(spec.at(first), 'The schedule has a timing already.', `Write ${first} into timing.`);
  const fields = Object.fromEntries(beside.map((name) => [name, spec.raw(name)]));
  return { path, as: (kind) => Fields.of(fields, path, 'Such a schedule', kind) };
}

function readTiming(timing: TimingPart): Timing {
  const any = timing.as(TIMING);
  if (any.raw('cron') !== undefined) {
    const fields = timing.as(CRON);
    return { cron: fields.name('cron') as string, zone: fields.name('zone') ?? 'UTC' };
  }
  if (any.raw('everyMs') !== undefined) {
    const fields = timing.as(INTERVAL);
    const everyMs = fields.whole('everyMs', { min: EVERY_MS_MIN, max: DURATION_MS_MAX }) as number;
    const anchor = fields.raw('anchorAt');
    if (anchor === undefined) return { everyMs };
    return { everyMs, anchorAt: readMoment(anchor, () => fields.at('anchorAt')) };
  }
  if (any.raw('at') !== undefined) {
    const fields = timing.as(ONCE);
    return { at: readMoment(fields.raw('at'), () => fields.at('at')) };
  }
  return refuse(timing.path, 'One of cron, everyMs and at is required.', HOW_TO);
}

function checkCron(
  timing: { readonly cron: string; readonly zone: string },
  path: string,
  calendar: Calendar,
): void {
  const zoneFault = calendar.check(MIDNIGHT, timing.zone);
  if (zoneFault !== null) refuse(`${path}/zone`, zoneFault, "Use an IANA name: 'Europe/Berlin'.");
  const fault = calendar.check(timing.cron, timing.zone);
  if (fault !== null) {
    refuse(
      `${path}/cron`,
      fault,
      "Write minute, hour, day, month and weekday ('0 2 * * 1-5'), with seconds in front if needed.",
    );
  }
}

/** The text of `ScheduleRow.spec`. How often it has run is a part of it where that has an end. */
export function encodeScheduleSpec(spec: ScheduleSpec, runs = 0): string {
  return JSON.stringify(spec.maxRuns === undefined ? spec : { ...spec, runs });
}

/** What its flow says of it. The document is made of that, and changes with the graph of the flow. */
export function definitionOf(spec: ScheduleSpec): string {
  const { document: _, ...definition } = spec;
  return canonicalJson(JSON.parse(JSON.stringify(definition)) as Json);
}

export function runsIn(text: string): number {
  return (JSON.parse(text) as { readonly runs?: number }).runs ?? 0;
}

/** The inverse of `encodeScheduleSpec`, for this node's calendar. The job document is checked again when it is submitted. */
export function decodeScheduleSpec(text: string, calendar: Calendar): ScheduleSpec {
  try {
    const fields = Fields.of(JSON.parse(text), '', 'A stored schedule', SPEC);
    const timing = timingIn(fields, '');
    const spec = readSpec(fields, timing);
    // Zones come and go with the platform: the node that took this one may have known more of them.
    if ('cron' in spec.timing) checkCron(spec.timing, timing.path, calendar);
    return spec;
  } catch (cause) {
    if (!(cause instanceof SyntaxError) && !isMillraceError(cause)) throw cause;
    throw new MillraceError({
      code: 'bad_row',
      what: 'The stored schedule cannot be read.',
      why: cause.message,
      todo: 'The store was changed by something else, or by a newer version.',
      cause,
    });
  }
}
