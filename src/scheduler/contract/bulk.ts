/** One action on all jobs that fit a filter. It is a job itself, run by the leader's own node. */
import {
  ANY_SIGNAL,
  awaitedEvent,
  JOB_STATES,
  MillraceError,
  PRIORITIES,
  isId,
  isObject,
  isStorableText,
  readLabel,
  readMoment,
  readStart,
  readStarter,
} from '../core/index.ts';
import type { Instant, JobState, Json, Priority } from '../core/index.ts';
import type { JobsQuery } from './reader-port.ts';

export const BULK_EXECUTOR = 'millrace.bulk';
/** The name of such a job, by which a new leader finds those that have not ended. */
export const BULK_NAME = 'bulk';

/** By action: the fields that say more of it. */
const FIELDS = {
  cancel: [],
  rerun: [],
  redrive: [],
  remove: [],
  signal: ['signal', 'value'],
  priority: ['priority'],
  reschedule: ['runAt'],
} as const;

export type BulkAction = keyof typeof FIELDS;

/** What is done to each job. */
export type BulkChange =
  | { readonly action: 'cancel' | 'rerun' | 'redrive' | 'remove' }
  | { readonly action: 'signal'; readonly signal: string; readonly value: Json }
  | { readonly action: 'priority'; readonly priority: Priority }
  | { readonly action: 'reschedule'; readonly runAt: Instant | 'now' };

export type BulkRequest = BulkChange & { readonly filter: BulkFilter };

const FILTER_FIELDS = [
  'state',
  'name',
  'labels',
  'waitingFor',
  'schedule',
  'startedBy',
  'since',
  'until',
] as const;
/** As lists take it. Times are milliseconds here, however they were given. */
type BulkFilter = Pick<JobsQuery, (typeof FILTER_FIELDS)[number]>;

/** The result of the job. */
export interface BulkOutcome {
  /** Jobs that fit the filter. */
  readonly found: number;
  readonly changed: number;
  /** There was nothing to do: say, a job to cancel had ended, one to rerun or remove had not. */
  readonly unchanged: number;
  readonly failed: number;
  /** The first few that failed. */
  readonly errors: readonly { readonly job: string; readonly message: string }[];
}

/** Throws `bad_input` with the path of the field. */
export function readBulkRequest(value: unknown): BulkRequest {
  const action = ACTIONS.find((each) => isObject(value) && value['action'] === each);
  // Whether it is an object at all comes first.
  const fields = fieldsOf(value, '', ['action', 'filter', ...(action ? FIELDS[action] : EVERY)]);
  if (action === undefined) throw bad('/action', `It must be one of ${ACTIONS.join(', ')}.`);
  return { ...changeOf(action, fields), filter: filterOf(fields['filter']) };
}

const ACTIONS = Object.keys(FIELDS) as readonly BulkAction[];
const EVERY: readonly string[] = Object.values(FIELDS).flat();

function changeOf(action: BulkAction, fields: Readonly<Record<string, unknown>>): BulkChange {
  switch (action) {
    case 'cancel':
    case 'rerun':
    case 'redrive':
    case 'remove':
      return { action };
    case 'signal': {
      const { signal, value = null } = fields;
      if (typeof signal !== 'string' || !isId(signal))
        throw bad('/signal', 'It is not a valid signal name.');
      return { action, signal, value: value as Json };
    }
    case 'priority': {
      const priority = PRIORITIES.find((each) => each === fields['priority']);
      if (priority === undefined) throw bad('/priority', 'It must be 0, 1, 2 or 3.');
      return { action, priority };
    }
    case 'reschedule': {
      const { runAt } = fields;
      return { action, runAt: runAt === 'now' ? runAt : readStart(runAt, () => '/runAt') };
    }
  }
}

function filterOf(value: unknown): BulkFilter {
  const fields = fieldsOf(value, '/filter', FILTER_FIELDS);
  const { state, name, labels, waitingFor, schedule, startedBy, since, until } = fields;
  if (FILTER_FIELDS.every((field) => fields[field] === undefined)) {
    throw bad(
      '/filter',
      'It is empty, so it would fit every job.',
      'Give a state, a name, labels, a signal, a schedule, what has started them, or a time.',
    );
  }
  return {
    ...(state === undefined ? {} : { state: stateOf(state) }),
    ...(name === undefined ? {} : { name: nameOf(name) }),
    ...(labels === undefined ? {} : { labels: labelsOf(labels) }),
    ...(waitingFor === undefined ? {} : { waitingFor: signalOf(waitingFor) }),
    ...(schedule === undefined ? {} : { schedule: scheduleOf(schedule) }),
    ...(startedBy === undefined ? {} : { startedBy: readStarter(startedBy, '/filter/startedBy') }),
    ...(since === undefined ? {} : { since: momentOf(since, 'since') }),
    ...(until === undefined ? {} : { until: momentOf(until, 'until') }),
  };
}

const momentOf = (value: unknown, field: string): Instant =>
  readMoment(value, () => `/filter/${field}`);

function scheduleOf(value: unknown): string {
  if (typeof value === 'string' && isId(value)) return value;
  throw bad('/filter/schedule', 'It is not the id of a schedule.', 'See `millrace schedules`.');
}

function signalOf(value: unknown): string {
  if (typeof value === 'string' && (value === ANY_SIGNAL || isId(awaitedEvent(value) ?? value)))
    return value;
  throw bad(
    '/filter/waitingFor',
    'It is not a valid signal name.',
    'Use `event/NAME` for an event, `*` for anything.',
  );
}

function stateOf(value: unknown): JobState {
  const state = JOB_STATES.find((each) => each === value);
  if (state === undefined)
    throw bad('/filter/state', `It must be one of ${JOB_STATES.join(', ')}.`);
  return state;
}

function nameOf(value: unknown): string {
  if (typeof value !== 'string' || value.length > 1_000)
    throw bad('/filter/name', 'It must be text of at most 1,000 characters.');
  if (!isStorableText(value))
    throw bad('/filter/name', 'It contains NUL or an unpaired surrogate.');
  return value;
}

function labelsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw bad('/filter/labels', 'It must be a list of `key:value`.');
  return value.map((label: unknown, at) => readLabel(String(label), `/filter/labels/${at}`));
}

function fieldsOf(
  value: unknown,
  path: string,
  known: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw bad(path, 'It must be an object.');
  const other = Object.keys(value).find((key) => !known.includes(key));
  if (other !== undefined)
    throw bad(`${path}/${other.slice(0, 80)}`, `Known fields are ${known.join(', ')}.`);
  return value;
}

const bad = (path: string, what: string, todo?: string): MillraceError =>
  new MillraceError({ code: 'bad_input', path, what, ...(todo === undefined ? {} : { todo }) });
