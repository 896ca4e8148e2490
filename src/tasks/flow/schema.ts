/** Values checked by the schemas of users: any library that keeps the Standard Schema. */
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { MillraceError } from '../../scheduler/core/index.ts';
import { type About, refuse, shown } from './fault.ts';
import { pointerOf } from './pointer.ts';

/** Some schemas answer at once, some need to wait. */
export type Maybe<T> = T | Promise<T>;

export function andThen<T, R>(value: Maybe<T>, go: (value: T) => Maybe<R>): Maybe<R> {
  return value instanceof Promise ? value.then(go) : go(value);
}

/** What a task returned does not fit the schema of its output. No repetition changes that. */
export class BadResultError extends Error {
  override readonly name = 'BadResultError';
  readonly code = 'bad_result';
  readonly failure = 'fatal';
}

export function checkSchema(about: About, field: string, schema: unknown): void {
  if (schema === undefined) return;
  const holder = typeof schema === 'function' || typeof schema === 'object' ? schema : null;
  const standard: unknown =
    holder === null ? null : (holder as Partial<StandardSchemaV1>)['~standard'];
  const validate: unknown =
    typeof standard === 'object' && standard !== null && 'validate' in standard
      ? standard.validate
      : null;
  if (typeof validate === 'function') return;
  refuse(
    about,
    `'${field}' must be a schema, not ${shown(schema)}.`,
    'Use a library that implements Standard Schema, such as zod, valibot or arktype.',
  );
}

/**
 * The input as its schema makes it. JSON has no `undefined`: an input that was left out comes as null,
 * so a null that the schema refuses is shown to it as undefined, for its defaults.
 */
export function conformInput<T>(
  schema: StandardSchemaV1<unknown, T>,
  value: unknown,
  whose: string,
): Maybe<T> {
  return andThen(validated(schema, value), (first) => {
    if (first.issues === undefined) return first.value;
    if (value !== null) throw badInput(whose, first.issues);
    return andThen(validated(schema, undefined), (second) => {
      if (second.issues === undefined) return second.value;
      throw badInput(whose, first.issues);
    });
  });
}

export function conformResult<T>(
  schema: StandardSchemaV1<unknown, T>,
  value: unknown,
  whose: string,
): Maybe<T> {
  return andThen(validated(schema, value), (outcome) => {
    if (outcome.issues === undefined) return outcome.value;
    throw new BadResultError(
      `The result of ${whose} does not match its schema: ${listed(outcome.issues)}.`,
    );
  });
}

function validated<T>(
  schema: StandardSchemaV1<unknown, T>,
  value: unknown,
): Maybe<StandardSchemaV1.Result<T>> {
  const outcome = schema['~standard'].validate(value);
  // Whatever can be awaited becomes a promise of our own kind.
  return 'then' in outcome ? Promise.resolve(outcome) : outcome;
}

type Issues = readonly StandardSchemaV1.Issue[];

function badInput(whose: string, issues: Issues): MillraceError {
  const [first, ...others] = issues;
  const path = first === undefined ? '' : pathOf(first);
  return new MillraceError({
    code: 'bad_input',
    ...(path === '' ? {} : { path }),
    what: `The input of ${whose} does not match its schema: ${first?.message ?? 'it was rejected'}.`,
    ...(others.length === 0 ? {} : { why: `Also: ${listed(others)}.` }),
  });
}

const SHOWN_MAX = 20;

function listed(issues: Issues): string {
  const lines = issues.slice(0, SHOWN_MAX).map((issue) => {
    const path = pathOf(issue);
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  const more = issues.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

function pathOf({ path = [] }: StandardSchemaV1.Issue): string {
  return pointerOf(path.map((each) => String(typeof each === 'object' ? each.key : each)));
}
