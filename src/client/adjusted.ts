/** A job document with what the caller says of this one job. */
import { type JsonObject, MillraceError, type Labels } from '../scheduler/core/index.ts';
import { durationMs } from '../kit/index.ts';
import type { SubmitOptions } from './options.ts';

type Document = Readonly<Record<string, unknown>>;

/** The caller's options take precedence over those of the flow; of labels, key by key. */
export function adjusted(document: Document, options: SubmitOptions): Document {
  const { name, priority, idempotencyKey, labels, fairnessKey, debounce } = options;
  const { batch, keep, webhooks } = options;
  const runAt = startOf(options);
  return {
    ...document,
    ...(name === undefined ? {} : { name }),
    ...(priority === undefined ? {} : { priority }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(labels === undefined ? {} : { labels: bothLabels(document['labels'], labels) }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(fairnessKey === undefined ? {} : { fairnessKey }),
    ...(debounce === undefined ? {} : { debounce }),
    ...(keep === undefined ? {} : { keep }),
    ...(webhooks === undefined ? {} : { webhooks }),
    ...(batch === undefined ? {} : { batch }),
  };
}

/** What is not an object is left for the server to refuse. */
function bothLabels(given: unknown, labels: Labels): unknown {
  const isObject = typeof labels === 'object' && labels !== null && !Array.isArray(labels);
  return isObject ? { ...(given as JsonObject | undefined), ...labels } : labels;
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
