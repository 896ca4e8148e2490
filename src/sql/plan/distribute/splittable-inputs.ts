/** Which inputs of each stage may be split: one of their partitions is then read by several tasks. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { StageCheck, type Known } from './check-draft.ts';
import type { Draft, DraftStage } from './draft.ts';
import { RANDOM, REPLICATED, type Partitioning } from './partitioning.ts';
import { eachRelation } from './relations.ts';

/**
 * By stage, the relations of which tasks may read any rows of a partition, if each of these tasks reads that partition of
 * all other inputs in full. Whether that is right is not guessed from the operators: the stage is checked as it would
 * be checked if the rows of the one input lay in any tasks, and those of all others in every task.
 */
export function splittableInputs(draft: Draft): readonly (readonly string[])[] {
  const before: Known[] = [];
  return draft.stages.map((stage) => {
    const found = mayBeSplit(stage) ? splittable(draft, stage, before) : [];
    before.push(new StageCheck(draft, stage, before).run());
    return found;
  });
}

/** A mark join tells a match from an unknown one, as NOT IN needs it. It is left whole whatever its conditions are. */
function mayBeSplit({ tasks, nonDeterministic, relation }: DraftStage): boolean {
  if (tasks === 1 || nonDeterministic !== null) return false;
  return ![...eachRelation(relation)].some((each) => each.kind === 'join' && each.type === 'mark');
}

function splittable(draft: Draft, stage: DraftStage, before: readonly Known[]): readonly string[] {
  const names = new Set<string>();
  for (const each of eachRelation(stage.relation)) {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    if (each.kind === 'input' && leaf?.kind === 'stage' && leaf.mode === 'partition')
      names.add(each.relation);
  }
  return [...names].filter((split) => {
    const spread = [...names].map((name): readonly [string, Partitioning] => [
      name,
      name === split ? RANDOM : REPLICATED,
    ]);
    return holds(() => new StageCheck(draft, stage, before, new Map(spread)).run());
  });
}

function holds(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invariant') return false;
    throw error;
  }
}
