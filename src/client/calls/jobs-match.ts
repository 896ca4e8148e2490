/** Which jobs, as the API takes it. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { BulkAction } from '../../scheduler/contract/index.ts';
import { defined } from '../../kit/index.ts';
import type { BulkOptions, JobsFilter, JobsMatch } from '../options.ts';
import type { Query } from './servers.ts';

/** The parameters of a list. */
export function listQuery({ labels, limit, ...match }: JobsFilter): Query {
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

function bulkFilter({ labels, state, name, waitingFor, schedule, ...match }: JobsMatch): object {
  const startedBy = starterText(match.startedBy);
  const list = labels === undefined ? {} : { labels: labelTerms(labels) };
  const said = defined({ state, name, waitingFor, schedule, startedBy });
  return { ...said, ...timesOf(match), ...list };
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
