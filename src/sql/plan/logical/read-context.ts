import type { SessionValues } from '../physical/plan.ts';
import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';

/** What is the same for a whole plan, and the enclosing lambda of an expression. */
export interface ReadContext {
  readonly session: SessionValues;
  /** Returns a new number for a lambda parameter, unique in the plan. */
  readonly nextParam: () => number;
  /** Inside a lambda or the filter of a scan: what the positions refer to. */
  readonly places: readonly Expression[] | null;
  /** The only table whose columns may come by name: DuckDB gives no positions below a table function. */
  readonly table?: number;
}

export type ReadExpression = (node: PlanNode, context: ReadContext) => Expression;
