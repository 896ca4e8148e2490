/** What can be submitted, read in one way wherever it is submitted: a flow, a task, or a job document. */
import { MillraceError, isObject } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { definitionsOf } from '../executors/index.ts';
import type { Callable, TaskDefinition } from '../executors/index.ts';

export interface ReadSubmission {
  readonly document: Readonly<Record<string, unknown>>;
  /** Gives the job's result its type; that of a document stays as it is. */
  readonly readResult: (result: Json) => unknown;
  /** Definitions that a worker needs to run it. */
  readonly tasks: readonly TaskDefinition[];
}

/** Checks the input by its schema. Throws a `MillraceError` for what cannot be submitted. */
export async function submissionOf(what: unknown, input: unknown): Promise<ReadSubmission> {
  if (isCallable(what)) {
    const document = asDocument(await what.toDocument(input), what.name);
    return {
      document,
      readResult: (result) => what.readResult(result),
      tasks: definitionsOf(what),
    };
  }
  if (!isObject(what)) throw strange(what);
  if (input !== undefined) {
    throw new MillraceError({
      code: 'bad_input',
      what: 'A job document takes no input.',
      todo: 'Put the inputs into its tasks, or submit a flow.',
    });
  }
  return { document: what, readResult: (result) => result, tasks: [] };
}

function isCallable(what: unknown): what is Callable<unknown, unknown> {
  return isObject(what) && typeof what['toDocument'] === 'function';
}

function asDocument(document: unknown, name: string): Readonly<Record<string, unknown>> {
  if (isObject(document)) return document;
  throw new MillraceError({ code: 'bad_input', what: `${name} did not return a job document.` });
}

function strange(what: unknown): MillraceError {
  const kind = what === null ? 'null' : Array.isArray(what) ? 'a list' : typeof what;
  return new MillraceError({
    code: 'bad_input',
    what: `Only a flow, a task or a job document can be submitted, not ${kind}.`,
    todo: 'Pass what defineFlow or defineTask returns, or an object with `tasks`.',
  });
}
