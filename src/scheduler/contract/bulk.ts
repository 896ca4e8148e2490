/** One action on all jobs that fit a filter. It is a job itself, run by the leader's own node. */
import { JOB_STATES, MillraceError, isObject, isStorableText, readLabel } from '../core/index.ts';
import type { JobState } from '../core/index.ts';
import type { JobsQuery } from './reader-port.ts';

export const BULK_EXECUTOR = 'millrace.bulk';
/** The name of such a job, by which a new leader finds those that have not ended. */
export const BULK_NAME = 'bulk';

const ACTIONS = ['cancel', 'rerun', 'redrive'] as const;
export type BulkAction = (typeof ACTIONS)[number];

export interface BulkRequest {
  readonly action: BulkAction;
  readonly filter: Pick<JobsQuery, 'state' | 'name' | 'labels'>;
}

/** The result of the job. */
export interface BulkOutcome {
  /** Jobs that fit the filter. */
  readonly found: number;
  readonly changed: number;
  /** There was nothing to do: a job to cancel had ended, one to rerun had not. */
  readonly unchanged: number;
  readonly failed: number;
  /** The first few that failed. */
  readonly errors: readonly { readonly job: string; readonly message: string }[];
}

/** Throws `bad_input` with the path of the field. */
export function readBulkRequest(value: unknown): BulkRequest {
  const { action, filter } = fieldsOf(value, '', ['action', 'filter']);
  const known = ACTIONS.find((each) => each === action);
  if (known === undefined) throw bad('/action', `It must be one of ${ACTIONS.join(', ')}.`);
  const { state, name, labels } = fieldsOf(filter, '/filter', ['state', 'name', 'labels']);
  if (state === undefined && name === undefined && labels === undefined)
    throw bad(
      '/filter',
      'It is empty, so it would fit every job.',
      'Give a state, a name or labels.',
    );
  return {
    action: known,
    filter: {
      ...(state === undefined ? {} : { state: stateOf(state) }),
      ...(name === undefined ? {} : { name: nameOf(name) }),
      ...(labels === undefined ? {} : { labels: labelsOf(labels) }),
    },
  };
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
