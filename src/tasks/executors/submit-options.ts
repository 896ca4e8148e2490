/** What a submitter says of one job: a client, or a task with `ctx.submit`. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { JobOutcome, Keep, Labels, Priority } from '../../scheduler/core/index.ts';
import { type Duration, durationMs } from '../../kit/index.ts';

/** Each takes precedence over what the flow says. */
export interface NewJobOptions {
  readonly priority?: Priority;
  /** Instead of the flow's own. */
  readonly name?: string;
  /** Short texts by key, to find the job by. They are added to those of the flow and replace equal keys. */
  readonly labels?: Labels;
  /** Jobs with the same key, for example of one tenant, share resources with others as if they were one job. */
  readonly fairnessKey?: string;
  /** It starts when no other job with its key has come for `ms`; one that comes meanwhile replaces it, but the first of
   * them waits no longer than `maxMs`. */
  readonly debounce?: { readonly key: string; readonly ms: number; readonly maxMs?: number };
  /** What remains of the job once it has ended: `all` for as long as the settings say (usual), `failed` nothing if it
   * succeeded, `none` nothing at all. Its end and result can be read for a minute in any case. */
  readonly keep?: Keep;
  /** Servers that are notified of the end of the job, instead of those of the flow. */
  readonly webhooks?: readonly WebhookSpec[];
  /** Jobs with the same key are executed together: the task runs once with the items of all of them, when there are
   * `max` jobs or the first has waited for `ms`. The input is a list, and the result is that of the batch. */
  readonly batch?: { readonly key: string; readonly max: number; readonly ms: number };
  /** No task starts before this time: a date, or ISO 8601 text with an offset. One that has passed means at once. */
  readonly runAt?: Date | string;
  /** The same as a duration from now by this program's clock: milliseconds, or text such as '2h'. */
  readonly delay?: Duration;
}

/** What decides whether there is a new job at all. A job that a task submits always is one. */
export interface KeyOptions {
  /** A second submission with the same key answers the first job; its handle says `isNew: false`. */
  readonly idempotencyKey?: string;
  /** While a job with this key is live there is no second one: the answer is that job, and `isNew` is false (`skip`,
   * usual); or that job is cancelled and this one takes its place (`replace`). */
  readonly singleton?: { readonly key: string; readonly whenBusy?: 'skip' | 'replace' };
}

export interface WebhookSpec {
  /** Where the signed event is sent: see `verifyWebhook`. */
  readonly url: string;
  /** For which ends; all of them without it. */
  readonly on?: readonly JobOutcome[];
}

/** The fields of a job document that the options stand for: `withJobFields` puts them into one. */
export function submitFields(
  options: NewJobOptions & KeyOptions,
  nowMs: number,
): Readonly<Record<string, unknown>> {
  const { name, priority, idempotencyKey, labels, fairnessKey, debounce } = options;
  const { batch, keep, webhooks, singleton } = options;
  const runAt = startText(options, nowMs);
  return {
    ...{ name, priority, idempotencyKey, labels, runAt, fairnessKey, debounce },
    ...{ keep, webhooks, batch, singleton },
  };
}

/** When it starts, as documents say it. */
export function startText(
  { runAt, delay }: Pick<NewJobOptions, 'runAt' | 'delay'>,
  nowMs: number,
): string | undefined {
  if (delay === undefined) return runAt instanceof Date ? dateText(runAt) : runAt;
  if (runAt !== undefined) {
    throw bad('`runAt` and `delay` are both given.', 'Give one of them.');
  }
  const ms = durationMs(delay);
  if (ms === null) {
    throw bad(
      `'${String(delay)}' is not a valid delay.`,
      "Give milliseconds, or text such as '2h'.",
    );
  }
  return dateText(new Date(nowMs + ms));
}

function dateText(date: Date): string {
  if (Number.isFinite(date.getTime())) return date.toISOString();
  throw bad('`runAt` is not a valid date.', 'Pass a Date that holds a time.');
}

function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path: '/runAt', what, todo });
}
