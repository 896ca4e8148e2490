/**
 * Distributes a planned statement: splits its plan into stages and has DuckDB bind their fragments. All of it is done in this process,
 * because the author of a statement decides how long it takes, and because it is asked for in one call.
 */
import {
  balanceScans,
  bindFault,
  boundStages,
  planQuery,
  splitQuery,
  type PinnedTable,
  type QueryPlan,
  type SplitQueryInput,
} from '../../plan/index.ts';
import type { BindAnswer, DistributeAnswer } from '../messages.ts';
import { bindStatement } from '../sql/bind-script.ts';
import { lookupStatement } from '../sql/lookup-script.ts';
import { boundTypes, lookedUp } from './bind.ts';
import { Failed, type SessionConnection } from './work.ts';

const UNBOUND =
  'DuckDB binds one of its fragments differently from the whole query; the log of the leader has the details';

/**
 * DuckDB decides what a fragment means. If it refuses a fragment, or binds it to other types than planned, the query would fail on a
 * worker or return something else, so it runs as a single fragment.
 */
export async function distributed(
  input: SplitQueryInput,
  bind: (plan: QueryPlan) => Promise<BindAnswer>,
): Promise<DistributeAnswer> {
  const { plan, faults } = splitQuery(input);
  const words = faults.map(wordsOf);
  const isSound = faults.length === 0;
  if (plan.single !== null) return answerOf(plan, words, isSound);
  const whole = (fault: string, isCertain: boolean): DistributeAnswer => {
    const unsplit = planQuery({ ...input, logical: null, whyNot: UNBOUND });
    return answerOf(unsplit, [...words, fault], isCertain);
  };
  try {
    const bound = await bind(plan);
    const fault = bindFault(plan, bound);
    if (fault !== null)
      return whole(`DuckDB binds a fragment differently from the plan: ${fault}`, true);
    const keys = 'keys' in bound ? bound.keys : [];
    return answerOf(balanceScans(plan, keys, input.tables), words, isSound);
  } catch (error) {
    if (error instanceof Failed && error.fault.code === 'interrupted') throw error;
    return whole(wordsOf(error), false);
  }
}

/** Binds the fragments as a worker would, over relations without rows, and looks up what their division depends on. */
export async function bound(
  connect: () => Promise<SessionConnection>,
  plan: QueryPlan,
  tables: readonly PinnedTable[],
): Promise<BindAnswer> {
  const lookups = lookupStatement(plan.lookups ?? [], tables);
  const [types, keys] = await Promise.allSettled([
    connect().then((own) => boundTypes(own, bindStatement(boundStages(plan)))),
    lookups === null ? null : connect().then((own) => lookedUp(own, lookups)),
  ]);
  if (types.status === 'rejected') throw types.reason;
  if (keys.status === 'rejected') throw keys.reason;
  const { value } = types;
  return 'fault' in value || keys.value === null ? value : { ...value, keys: keys.value };
}

/** A larger plan could not be stored. */
const PLAN_CHARS_MAX = 16 * 2 ** 20;

export function answerOf(
  plan: QueryPlan,
  faults: readonly string[],
  isSound: boolean,
): DistributeAnswer {
  const text = JSON.stringify(plan);
  if (text.length <= PLAN_CHARS_MAX) return { plan: text, faults, isSound };
  throw new Failed({
    code: 'too_large',
    what: `The plan of the query has ${text.length} characters, and ${PLAN_CHARS_MAX} is the limit.`,
    todo: 'Make the query smaller: fewer columns, constants or subqueries.',
  });
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
