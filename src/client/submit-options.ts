/** A job document with what the caller says of this one job. */
import { isObject, type JsonObject, MillraceError, type Labels } from '../scheduler/core/index.ts';
import { defined, durationMs } from '../kit/index.ts';
import type { SubmitOptions } from './options.ts';

type Document = Readonly<Record<string, unknown>>;

/** The caller's options take precedence over those of the flow; of labels, key by key. */
export function withSubmitOptions(document: Document, options: SubmitOptions): Document {
  const { name, priority, idempotencyKey, labels, fairnessKey, debounce } = options;
  const { batch, keep, webhooks, singleton } = options;
  const runAt = startOf(options);
  return {
    ...document,
    ...defined({ name, priority, idempotencyKey, runAt, fairnessKey, debounce }),
    ...defined({ keep, webhooks, batch, singleton }),
    ...(labels === undefined ? {} : { labels: bothLabels(document['labels'], labels) }),
  };
}

/** What is not an object is left for the server to refuse. */
function bothLabels(given: unknown, labels: Labels): unknown {
  return isObject(labels) ? { ...(given as JsonObject | undefined), ...labels } : labels;
}

function startOf({ runAt, delay }: SubmitOptions): string | undefined {
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
  return dateText(new Date(Date.now() + ms));
}

function dateText(date: Date): string {
  if (Number.isFinite(date.getTime())) return date.toISOString();
  throw bad('`runAt` is not a valid date.', 'Pass a Date that holds a time.');
}

function bad(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path: '/runAt', what, todo });
}
