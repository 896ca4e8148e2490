/** Which jobs, as the API takes it. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { BulkAction } from '../../scheduler/contract/index.ts';
import { defined } from '../../kit/index.ts';
import type { BulkOptions, JobsFilter, JobsMatch } from '../options.ts';
import type { Query } from './servers.ts';

/** The parameters of a list. */
export function listQuery(given: JobsFilter): Query {
  checkFields(given, [...FIELDS, 'limit', 'cursor', 'signal', 'retriesForever']);
  const { labels, limit, ...match } = given;
  const { state, name, waitingFor, schedule } = match;
  const startedBy = starterText(match.startedBy);
  return {
    ...defined({ state, name, waitingFor, schedule, startedBy, limit: limit?.toString() }),
    ...timesOf(match),
    label: labelTerms(labels ?? {}),
  };
}

export function bulkRequest(
  action: BulkAction,
  match: JobsMatch,
  { name: signal, value, priority, runAt }: BulkOptions,
): object {
  const more = { signal, value: action === 'signal' ? value : undefined, priority };
  const start = timeText('runAt', runAt);
  return { action, ...defined({ ...more, runAt: start }), filter: bulkFilter(match) };
}

function bulkFilter(given: JobsMatch): object {
  checkFields(given, FIELDS);
  const { labels, state, name, waitingFor, schedule, ...match } = given;
  const startedBy = starterText(match.startedBy);
  const list = labels === undefined ? {} : { labels: labelTerms(labels) };
  const said = defined({ state, name, waitingFor, schedule, startedBy });
  return { ...said, ...timesOf(match), ...list };
}

const FIELDS: readonly (keyof JobsMatch)[] = [
  ...(['state', 'name', 'labels', 'waitingFor', 'schedule', 'startedBy'] as const),
  ...(['since', 'until'] as const),
];

/** A filter that is misspelt would be none, and mean all jobs. */
function checkFields(given: object, known: readonly string[]): void {
  const other = Object.keys(given).find((name) => !known.includes(name));
  if (other === undefined) return;
  throw new MillraceError({
    code: 'bad_input',
    path: `/${other}`,
    what: `Jobs cannot be chosen by '${other}'.`,
    todo: `Known fields are ${known.join(', ')}.`,
  });
}

export function starterText(startedBy: JobsMatch['startedBy']): string | undefined {
  if (startedBy === undefined || typeof startedBy === 'string') return startedBy;
  const parts =
    'event' in startedBy
      ? ['event', startedBy.event, startedBy.id]
      : ['job', startedBy.job, startedBy.task];
  return parts.filter((part) => part !== undefined).join('/');
}

export function labelTerms(labels: NonNullable<JobsMatch['labels']>): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}:${value}`);
}

function timesOf({ since, until }: Pick<JobsMatch, 'since' | 'until'>): Record<string, string> {
  return defined({ since: timeText('since', since), until: timeText('until', until) });
}

/** Text is left for the server to read. */
function timeText(field: string, time: Date | string | undefined): string | undefined {
  if (!(time instanceof Date)) return time;
  if (Number.isFinite(time.getTime())) return time.toISOString();
  throw new MillraceError({
    code: 'bad_input',
    path: `/${field}`,
    what: `\`${field}\` is not a valid date.`,
    todo: 'Pass a Date that holds a time.',
  });
}
