/**
 * Brings the rows of a side to every task. What was materialized already is read by each of them instead of by a stage that only
 * chooses rows and columns of it, and writes them once more.
 */
import type { InputRelation, Relation } from '../logical/relation.ts';
import { EXCHANGE_BYTES } from './broadcast-cost.ts';
import type { Draft } from './draft.ts';
import { REPLICATED } from './partitioning.ts';
import { withInputs } from './relations.ts';
import { bytesOf, type Subplan } from './subplan.ts';

export function broadcastSide(draft: Draft, side: Subplan): Subplan {
  return readAgain(draft, side) ?? draft.broadcast(side);
}

function readAgain(draft: Draft, side: Subplan): Subplan | null {
  const source = side.nonDeterministic === null ? sourceOf(side.relation) : null;
  const leaf = source === null ? undefined : draft.leaves.get(source.relation);
  if (source === null || leaf?.kind !== 'stage' || leaf.mode !== 'forward') return null;
  const { bytes } = draft.stages[leaf.stage]?.estimate ?? {};
  const more = (bytes ?? Infinity) - bytesOf(side);
  if (more * draft.partitions > EXCHANGE_BYTES) return null;
  const all = { ...source, relation: draft.addReading(leaf.stage, 'all') };
  const relation = over(side.relation, all);
  return { ...side, relation, partitioning: REPLICATED, scan: null, stage: null };
}

/** The only relation that it chooses rows and columns of. */
function sourceOf(relation: Relation): InputRelation | null {
  if (relation.kind === 'input') return relation;
  return isChoice(relation) ? sourceOf(relation.input) : null;
}

type Choice = Extract<Relation, { kind: 'project' | 'filter' | 'distinct' }>;

function isChoice(relation: Relation): relation is Choice {
  if (relation.kind === 'distinct') return relation.on === null;
  return relation.kind === 'project' || relation.kind === 'filter';
}

function over(relation: Relation, source: InputRelation): Relation {
  return isChoice(relation) ? withInputs(relation, [over(relation.input, source)]) : source;
}
