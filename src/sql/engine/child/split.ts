/** Splits a plan outside of the leader's thread, because its author decides how long that takes. */
import { splitQuery } from '../../plan/index.ts';
import type { SplitAnswer, SplitCall } from '../messages.ts';
import { Failed } from './work.ts';

/** A larger plan could not be stored. */
const PLAN_CHARS_MAX = 16 * 2 ** 20;

export function split({ input }: SplitCall): Promise<SplitAnswer> {
  const { plan, faults } = splitQuery(input);
  const text = JSON.stringify(plan);
  if (text.length > PLAN_CHARS_MAX)
    return Promise.reject(
      new Failed({
        code: 'too_large',
        what: `The plan of the query has ${text.length} characters, and ${PLAN_CHARS_MAX} is the limit.`,
        todo: 'Make the query smaller: fewer columns, constants or subqueries.',
      }),
    );
  return Promise.resolve({ plan: text, faults: faults.map(wordsOf) });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
