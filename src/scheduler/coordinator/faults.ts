/** Faults of a leader, as its callers see them. */
import { MillraceError, isMillraceError } from '../core/index.ts';
import type { JobRow, Unstorable } from '../core/index.ts';

export function asFault(error: unknown): MillraceError {
  if (isMillraceError(error)) return error;
  const what = error instanceof Error ? error.message : String(error);
  return new MillraceError({ code: 'invariant', what: `unexpected: ${what}`, cause: error });
}

/** The error for the caller of a bad event; the store's error is the cause. */
export function refusal(fault: MillraceError): MillraceError {
  if (fault.code !== 'bad_row') return fault;
  return new MillraceError({
    code: 'bad_input',
    what: 'The store rejected this data.',
    why: fault.what,
    todo: 'Nothing was stored. Change the input.',
    cause: fault,
  });
}

/** The error for the caller of an event that no store can hold. The scheduler has not seen it. */
export function notStorable({ path, why }: Unstorable): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The value at ${path} ${why}, so it cannot be stored.`,
    todo: 'Nothing was changed. Send well-formed text and finite numbers.',
  });
}

/** The error for all waiting callers when a term ends. A fault of our own is not an answer to
 * their question: the next leader has one. */
export function steppedDown(why: MillraceError): MillraceError {
  if (why.code !== 'bad_row' && why.code !== 'invariant') return why;
  return new MillraceError({
    code: 'not_leader',
    what: 'This leader has stepped down.',
    why: why.what,
    todo: 'Retry: it reloads its state, or another node takes over.',
    cause: why,
  });
}

export function overloaded(events: number, bytes: number): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `The leader has ${events} events (${Math.round(bytes / 1024)} KiB) waiting to be committed.`,
    todo: 'Retry later, at a lower rate.',
  });
}

export function reloading(): MillraceError {
  return new MillraceError({
    code: 'loading',
    what: 'The leader is loading its state.',
    todo: 'Ask again.',
  });
}

export function hasEnded({ id, state }: JobRow): MillraceError {
  return new MillraceError({
    code: 'conflict',
    what: `Job ${id} has ended (${state}) and cannot receive signals.`,
    todo: 'Send signals while the job is running; `millrace rerun` runs it again.',
  });
}

export function unknownJob(id: string): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no job ${id}.` });
}

/** An ended job that is about to be removed cannot come to life again: its rows may go at any moment. */
export function notKept({ id, state }: Pick<JobRow, 'id' | 'state'>): MillraceError {
  return new MillraceError({
    code: 'expired',
    what: `Job ${id} has ended (${state}) and is not kept.`,
    why: 'It was submitted with `keep`, so its tasks and results are being removed.',
    todo: 'Submit it again.',
  });
}

export function unknownTask(job: string, task: string): MillraceError {
  return new MillraceError({ code: 'not_found', what: `Job ${job} has no task ${task}.` });
}

export function noSecret(): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    path: '/webhooks',
    what: 'This server has no secret to sign webhooks with.',
    todo: 'Set MILLRACE_WEBHOOK_SECRETS on every server of the cluster, or settings.webhookSecrets of createRuntime.',
  });
}
