/**
 * Reads DuckDB's row estimates, which are in EXPLAIN but not in the plan. Both are the same tree, so they are matched
 * node by node.
 */
import { PlanNode } from './plan-node.ts';
import { Undistributable } from './undistributable.ts';

/** Rows by the path of the operator. Empty if the trees differ: no estimate is better than a wrong one. */
export function zipEstimates(
  root: PlanNode,
  estimatesJson: string | null,
): ReadonlyMap<string, number> {
  if (estimatesJson === null) return new Map();
  try {
    const [explained] = PlanNode.parse(estimatesJson, 'estimates').list();
    const found = new Map<string, number>();
    return explained !== undefined && zip(root, explained, found) ? found : new Map();
  } catch (error) {
    // EXPLAIN is text for people, so a query does not fail if it looks different.
    if (error instanceof Undistributable) return new Map();
    throw error;
  }
}

/** Whether both have the same shape. */
function zip(operator: PlanNode, explained: PlanNode, found: Map<string, number>): boolean {
  const inputs = operator.at('children').list();
  const explainedInputs = explained.at('children').list();
  if (inputs.length !== explainedInputs.length) return false;
  const rows = rowsOf(explained.at('extra_info'));
  if (rows !== null) found.set(operator.path, rows);
  return inputs.every((input, i) => {
    const side = explainedInputs[i];
    return side !== undefined && zip(input, side, found);
  });
}

function rowsOf(info: PlanNode): number | null {
  if (!info.isThere) return null;
  const estimate = info.at('Estimated Cardinality');
  const text = estimate.isThere ? estimate.text() : '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
