import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';
import type { Relation } from './relation.ts';

/** Some operators return only some of their columns; an empty list means all. */
export function narrowed(input: Relation, map: PlanNode): Relation {
  const places = map.list();
  if (places.length === 0) return input;
  const expressions = places.map((place): Expression => {
    const index = place.index();
    const type = input.output[index];
    if (type === undefined) throw place.odd('column');
    return { kind: 'column', index, type };
  });
  const output = expressions.map(({ type }) => type);
  return { kind: 'project', input, expressions, output, rows: input.rows };
}
