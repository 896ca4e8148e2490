/** Checks that ranges which are sorted one by one, and follow one another, are a sorted result. */
import type { Relation } from '../logical/relation.ts';
import { boundsRelation, rangedRelation } from './distribute-sort.ts';
import type { Draft, DraftStage } from './draft.ts';
import { expressionKey } from './expressions.ts';

type Refuse = (why: string) => never;

/**
 * The number of a range must grow with the order: it is the number of bounds that are not greater than the sort key, in
 * ascending order. All tasks must have the same bounds, so these are the output of a single task.
 */
export function checkRangeOutput(draft: Draft, stage: DraftStage, refuse: Refuse): void {
  const { output, relation } = stage;
  if (output.kind !== 'range') return;
  const cross = relation.kind === 'project' ? relation.input : null;
  const left = cross?.kind === 'cross' ? cross.left : null;
  if (cross?.kind !== 'cross' || left?.kind !== 'project')
    return refuse('its rows are not compared with bounds');
  const expected = rangedRelation(left.input, output.order, cross.right);
  if (shapeOf(expected) !== shapeOf(relation))
    refuse('its ranges are not in the order of its keys');
  const place = output.by.kind === 'column' ? output.by.index : -1;
  if (place !== relation.output.length - 1) refuse('its partitions are not its ranges');
  const leaf = cross.right.kind === 'input' ? draft.leaves.get(cross.right.relation) : undefined;
  const made = leaf?.kind === 'stage' && leaf.mode === 'all' ? draft.stages[leaf.stage] : undefined;
  if (made?.tasks !== 1) return refuse('its bounds are not those of every other task');
  const { relation: bounds } = made;
  const isAscending =
    bounds.kind === 'aggregate' &&
    callsOf(bounds) === callsOf(boundsRelation(bounds.input, draft.partitions));
  if (!isAscending) refuse('its bounds are not in ascending order');
}

/** The expressions of the two projections of a range-partitioned stage. */
function shapeOf(relation: Relation): string {
  const cross = relation.kind === 'project' ? relation.input : relation;
  const below = cross.kind === 'cross' ? cross.left : cross;
  return [relation, below]
    .flatMap((each) => (each.kind === 'project' ? each.expressions.map(expressionKey) : ['-']))
    .join(';');
}

function callsOf({ calls, groups }: Extract<Relation, { kind: 'aggregate' }>): string {
  return JSON.stringify([calls, groups]);
}

/** Whether the rows come from a sort, and in its order. */
export function isSorted(relation: Relation): boolean {
  if (relation.kind === 'sort') return true;
  if (relation.kind === 'with') return isSorted(relation.body);
  return (relation.kind === 'project' || relation.kind === 'filter') && isSorted(relation.input);
}
