/** Checks that DuckDB binds the fragments of a plan to the types they were planned with. */
import { parseType } from '../sql/parse-type.ts';
import type { QueryPlan, Stage } from '../physical/plan.ts';

/** For each stage the types of its columns in order, then the type of one more column. */
type Bound = { readonly types: readonly string[] } | { readonly fault: string };

/** All fragments that may run: those of the stages, then those that stages may run instead. */
export function boundStages({
  stages,
  joins = [],
}: QueryPlan): readonly Pick<Stage, 'id' | 'fragment' | 'output'>[] {
  const instead = joins.flatMap(({ stage, fragment }) => {
    const own = stages[stage];
    return own === undefined ? [] : [{ id: stage, fragment, output: own.output }];
  });
  return [...stages, ...instead];
}

/** Returns why DuckDB refuses a fragment, or which type differs from the planned one; null if all bind as planned. */
export function bindFault(plan: QueryPlan, bound: Bound): string | null {
  if ('fault' in bound) return bound.fault;
  const { types } = bound;
  let first = 0;
  for (const { id, fragment } of boundStages(plan)) {
    const { columns } = fragment;
    for (const [at, { type }] of columns.entries()) {
      const own = types[first + at] ?? 'nothing';
      if (!isType(own, type)) return `stage ${id}, column ${at}: ${own} instead of ${type}`;
    }
    // A fragment without columns has a placeholder column.
    first += Math.max(1, columns.length) + 1;
  }
  return first === types.length ? null : `${types.length - first} columns more than planned`;
}

/** DuckDB quotes names only where it must, so types are compared in parsed form. */
function isType(bound: string, planned: string): boolean {
  // A NULL without a type becomes an INTEGER.
  if (bound === planned || (planned === '"NULL"' && bound === 'INTEGER')) return true;
  try {
    return parseType(bound).sql === parseType(planned).sql;
  } catch {
    return false;
  }
}
