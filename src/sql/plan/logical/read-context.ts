import type { SessionValues } from '../physical/plan.ts';
import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';

/** What is the same for a whole plan, and the lambda around an expression. */
export interface ReadContext {
  readonly session: SessionValues;
  /** Gives every parameter of a lambda a number of its own. */
  readonly nextParam: () => number;
  /** Inside of a lambda or of a scan's filter: what its places stand for. */
  readonly places: readonly Expression[] | null;
}

export type ReadExpression = (node: PlanNode, context: ReadContext) => Expression;
