/** Whether DuckDB binds the fragments of a plan to the types that they were planned with. */
import { parseType } from '../sql/parse-type.ts';
import type { QueryPlan } from '../physical/plan.ts';

/** What DuckDB binds: for each stage the types of its columns in order, and one more. */
type Bound = { readonly types: readonly string[] } | { readonly fault: string };

/** What DuckDB says against a fragment, or which type is another than planned; null if all bind as planned. */
export function bindFault({ stages }: QueryPlan, bound: Bound): string | null {
  if ('fault' in bound) return bound.fault;
  const { types } = bound;
  let first = 0;
  for (const { id, fragment } of stages) {
    const { columns } = fragment;
    for (const [at, { type }] of columns.entries()) {
      const own = types[first + at] ?? 'nothing';
      if (!isType(own, type)) return `stage ${id}, column ${at}: ${own} instead of ${type}`;
    }
    // Without columns it has one that says nothing.
    first += Math.max(1, columns.length) + 1;
  }
  return first === types.length ? null : `${types.length - first} columns more than planned`;
}

/** DuckDB writes names in quotes only where it must. */
function isType(bound: string, planned: string): boolean {
  // A NULL of no type is an INTEGER wherever it meets another one.
  if (bound === planned || (planned === '"NULL"' && bound === 'INTEGER')) return true;
  try {
    return parseType(bound).sql === parseType(planned).sql;
  } catch {
    return false;
  }
}
