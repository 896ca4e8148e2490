/** Conditions: whether a task is to run at all, by the results of others or by the flow's input. */
import type { TaskEnd } from '../../scheduler/core/index.ts';
import { type About, refuse, shown } from './fault.ts';
import { type Pointed, pointedBy } from './placeholder.ts';
import type { Missing, Ref } from './ref.ts';

declare const condition: unique symbol;

/** What `is`, `succeeded`, `failed` and `skipped` answer: for `when`. */
export interface Condition {
  readonly [condition]: true;
}

export const COMPARISONS = ['=', '!=', '>', '>=', '<', '<=', 'in'] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** What a value of type `T` can be compared with: a plain value or a field of the flow's input. */
export type Operand<T, Op extends Comparison> = Op extends 'in'
  ? readonly Scalar<T>[] | Ref<readonly Scalar<T>[], 'input'>
  : Op extends '=' | '!='
    ? Scalar<T> | Ref<Scalar<T>, 'input'>
    : Ordered<T> | Ref<Ordered<T>, 'input'>;

type Scalar<T> = Extract<Exclude<T, Missing | undefined>, string | number | boolean | null>;
type Ordered<T> = Extract<T, string | number>;

/** A condition as the flow keeps it. */
export interface Test {
  readonly subject: Pointed;
  /** Not empty, without one. */
  readonly comparison: { readonly operator: TestOperator; readonly operand: unknown } | null;
}

export type TestOperator = Comparison | TaskEnd;

const known = new WeakMap<object, Test>();

export function comparing(
  about: About,
  subject: unknown,
  operator: Comparison,
  operand: unknown,
): Condition {
  const pointed = pointedBy(subject);
  if (pointed === undefined) {
    refuse(about, `'is' compares a reference, not ${shown(subject)}.`);
  }
  refuseError(about, pointed);
  if (!COMPARISONS.includes(operator)) {
    refuse(
      about,
      `'is' cannot compare with ${shown(operator)}.`,
      `Use one of ${COMPARISONS.join(' ')}.`,
    );
  }
  const made = Object.freeze({}) as Condition;
  known.set(made, { subject: pointed, comparison: { operator, operand } });
  return made;
}

function refuseError(about: About, { isError, task }: Pointed): void {
  if (isError !== true) return;
  const todo = `Use failed(${task}), and look at the error in the code of the task.`;
  refuse(about, "a condition cannot test what 'errorOf' returned.", todo);
}

/** How a task has ended: the dependent waits for its end, whatever that is. */
export function ending(about: About, subject: unknown, word: TaskEnd): Condition {
  const pointed = pointedBy(subject);
  if (pointed === undefined || pointed.task === null || pointed.tokens.length > 0) {
    refuse(about, `'${word}' takes what 'task' or 'map' returned, not ${shown(subject)}.`);
  }
  const made = Object.freeze({}) as Condition;
  const comparison = { operator: word, operand: true } as const;
  known.set(made, { subject: { ...pointed, orNull: 'ifFailed' }, comparison });
  return made;
}

/** What `when` says, as a list of tests that must all hold. */
export function testsOf(about: About, when: unknown): readonly Test[] {
  if (when === undefined) return [];
  if (Array.isArray(when)) return when.flatMap((each: unknown) => testsOf(about, each));
  const subject = pointedBy(when);
  if (subject !== undefined) refuseError(about, subject);
  if (subject !== undefined) return [{ subject, comparison: null }];
  const test = typeof when === 'object' && when !== null ? known.get(when) : undefined;
  if (test !== undefined) return [test];
  return refuse(
    about,
    `'when' takes a reference or what 'is', 'succeeded', 'failed' or 'skipped' returned, not ${shown(when)}.`,
    'A condition is evaluated when the job runs, not while the flow is built.',
  );
}
