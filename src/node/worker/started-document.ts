/** The document of a job that a handler calls or submits. */
import { MillraceError, isObject, withJobFields } from '../../scheduler/core/index.ts';
import { jsonText, submitFields } from '../../tasks/executors/index.ts';
import type { NewJobOptions } from '../../tasks/executors/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';
import { type AttemptSpan, traceFields } from './attempt-span.ts';
import { tooLarge } from './payload-limit.ts';

export interface StartOwner {
  readonly assignment: ReadyAssignment;
  readonly span: AttemptSpan | null;
  /** By the database's clock, or a little before it. */
  readonly nowMs: number;
}

/** With the trace of the attempt, unless it has its own. Whatever else is wrong with it, the leader says it. */
export function startedDocument(
  what: string,
  own: unknown,
  owner: StartOwner,
  options: NewJobOptions = {},
): { readonly document: unknown; readonly length: number } {
  const document = isObject(own)
    ? withJobFields({ ...traceFields(owner), ...own }, submitFields(options, owner.nowMs))
    : own;
  const text = jsonText(document);
  if (!text.isJson) throw badDocument(what, text.fault);
  const excess = tooLarge(`The document of the ${what}`, text.text);
  if (excess !== null) throw excess;
  return { document, length: text.text.length };
}

/** The executors that the job needs, as far as its document says so. */
export function executorsIn(document: unknown): readonly string[] {
  const { tasks } = document as { readonly tasks?: unknown };
  if (!Array.isArray(tasks)) return [];
  const names = tasks.map((task: unknown) => (task as { executor?: unknown } | null)?.executor);
  return [...new Set(names)].filter((name) => typeof name === 'string');
}

export function notCallable(what: string): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: `The ${what} has nothing to run.`,
    todo: 'Pass a flow or a task as the second argument.',
  });
}

function badDocument(what: string, fault: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what: `The document of the ${what} ${fault}.` });
}
