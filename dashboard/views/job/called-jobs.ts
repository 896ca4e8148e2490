/** The jobs that a task calls or submits, and the job that calls this one. */
import type { TaskDetail } from '../../../src/scheduler/contract/index.ts';
import type { Json } from '../../../src/scheduler/core/index.ts';

export interface CalledJob {
  readonly id: string;
  /** The name that the task has given to the call; null while it is not known. */
  readonly name: string | null;
  /** Null while it has not ended. */
  readonly state: string | null;
}

/** Where a task keeps the outcome of a call. */
const STEP = '$job/';

/** Calls that have ended are steps of the task; those that have not are named in the reason why it waits. */
export function calledJobs(
  steps: TaskDetail['steps'],
  waiting: string | null,
): readonly CalledJob[] {
  const ended = steps.flatMap(({ name, result }) => {
    const [id, state] = [textIn(result, 'jobId'), textIn(result, 'state')];
    return !name.startsWith(STEP) || id === null
      ? []
      : [{ id, name: name.slice(STEP.length), state: state ?? 'succeeded' }];
  });
  const [, names = ''] =
    /^waits for job (.+?)(?:, whose|;| or signal| for another|$)/.exec(waiting ?? '') ?? [];
  const live = names.split(' or ').filter((id) => id !== '' && id !== '...');
  return [
    ...ended,
    ...live
      .filter((id) => ended.every((each) => each.id !== id))
      .map((id) => ({ id, name: null, state: null })),
  ];
}

const SUBMITTED = '$submit/';

/** Jobs that a task has submitted and does not wait for. */
export function submittedJobs(steps: TaskDetail['steps']): readonly string[] {
  return steps.flatMap(({ name, result }) => {
    const id = name.startsWith(SUBMITTED) ? textIn(result, 'jobId') : null;
    return id === null ? [] : [id];
  });
}

function textIn(value: Json, field: string): string | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const found = (value as Readonly<Record<string, Json>>)[field];
  return typeof found === 'string' ? found : null;
}

/** The id of a called job is that of its caller and twelve digits behind it. */
export const callerOf = (id: string): string | null => /^(.+)\.[0-9a-f]{12}$/.exec(id)?.[1] ?? null;
