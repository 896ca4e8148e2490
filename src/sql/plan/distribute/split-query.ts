/**
 * Splits a query into stages and fragments, from DuckDB's plan of it. If that fails for any reason, the query runs as
 * a single fragment.
 */
import type { QueryPlan } from '../physical/plan.ts';
import { readLogicalPlan } from '../logical/read-plan.ts';
import { Undistributable } from '../logical/undistributable.ts';
import { planQuery, type PlanInput } from './plan-query.ts';

export interface SplitQueryInput extends Omit<PlanInput, 'logical'> {
  /** The output of `json_serialize_plan`; null if DuckDB cannot serialise the plan, and `whyNot` says why. */
  readonly plan: string | null;
  readonly estimates: string | null;
}

export interface SplitQueryResult {
  readonly plan: QueryPlan;
  /** Unexpected errors, for the server's log. */
  readonly faults: readonly unknown[];
}

/** The error itself would mean nothing to the user. */
const FAULTY =
  'distributing it failed because of a bug in Millrace; the log of the leader has the details';

export function splitQuery(input: SplitQueryInput): SplitQueryResult {
  const faults: unknown[] = [];
  try {
    const logical = logicalOf(input, (error) => faults.push(error));
    return { plan: planQuery({ ...input, ...logical }), faults };
  } catch (error) {
    const plan = planQuery({ ...input, logical: null, whyNot: FAULTY });
    return { plan, faults: [...faults, error] };
  }
}

function logicalOf(
  { plan, whyNot, estimates, session }: SplitQueryInput,
  onFault: (error: unknown) => void,
): Pick<PlanInput, 'logical' | 'whyNot'> {
  if (plan === null) return { logical: null, whyNot };
  try {
    return { logical: readLogicalPlan(plan, estimates, session), whyNot: null };
  } catch (error) {
    if (!(error instanceof Undistributable)) throw error;
    if (error.oddity !== null) onFault(error);
    return { logical: null, whyNot: error.reason };
  }
}
