/**
 * Finds joins whose smaller side should be known before the other one is exchanged. If it turns out to be small, every
 * task gets all of it, and the other side is joined where it is read.
 */
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { Relation } from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import type { RuntimeFilter } from '../physical/plan.ts';
import { checkDraft } from './check-draft.ts';
import { Draft, type DraftStage } from './draft.ts';
import { eachRelation, withInputs } from './relations.ts';
import { Stages } from './runtime-filters.ts';
import type { DistributeSettings } from './settings.ts';

/** An estimate is taken to be wrong by no more than this. */
const FIT_RATIO = 16;
/** Each task reads each partition of each producer. */
const READS_MAX = 1_024;

/** A join that may run in another way. */
export interface DraftJoin {
  readonly stage: DraftStage;
  readonly build: DraftStage;
  readonly probe: DraftStage;
  /** The plan as it is if all rows of `build` are in every task; `probe` is part of `stage` then, and read by nobody. */
  readonly draft: Draft;
  readonly relation: string;
}

/**
 * In the order of stages. None of them makes a stage wait for itself: the tasks of `probe` wait for those of `build`, and
 * only `stage` waits for `probe`, which waits for `build` as well.
 */
export function adaptiveJoins(
  draft: Draft,
  isOrdered: boolean,
  filters: readonly RuntimeFilter[],
  settings: DistributeSettings,
): readonly DraftJoin[] {
  const { adaptiveJoins: level, broadcastThresholdBytes } = settings;
  if (level === 0 || broadcastThresholdBytes === 0) return [];
  const stages = new Stages(draft);
  const found = draft.stages.flatMap((stage) =>
    sidesOf(draft, stage).flatMap((sides) => {
      if (!mayAdapt(draft, stages, sides, filters)) return [];
      return level === 2 || pays(stages, sides, broadcastThresholdBytes) ? [sides] : [];
    }),
  );
  const chosen: DraftJoin[] = [];
  // A stage that may be left out, or may run in another way, takes part in one such choice only.
  const taken = new Set<number>();
  for (const sides of found.toSorted((a, b) => bytesOf(b.probe) - bytesOf(a.probe))) {
    const { stage, probe } = sides;
    if (taken.has(stage.id) || taken.has(probe.id)) continue;
    const join = alternative(draft, sides, isOrdered);
    if (join === null) continue;
    taken.add(stage.id).add(probe.id);
    chosen.push(join);
  }
  return chosen.toSorted((a, b) => a.stage.id - b.stage.id);
}

type Sides = Pick<DraftJoin, 'stage' | 'build' | 'probe'>;

function bytesOf({ estimate }: DraftStage): number {
  return estimate.bytes ?? 0;
}

/**
 * A stage that reads the partitions of two others, each once, in both orders: the smaller one is the better one to wait for.
 * A mark join tells a match from an unknown one, as NOT IN needs it. It is left as it is whatever its conditions are.
 */
function sidesOf(draft: Draft, stage: DraftStage): readonly Sides[] {
  const all = [...eachRelation(stage.relation)];
  if (all.some((each) => each.kind === 'join' && each.type === 'mark')) return [];
  const read = all.flatMap((each) => {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    return leaf?.kind === 'stage' && leaf.mode === 'partition' ? [leaf.stage] : [];
  });
  const [one, other] = read.map((id) => draft.stages[id] as DraftStage);
  if (read.length !== 2 || one === undefined || other === undefined || one === other) return [];
  const [build, probe] = bytesOf(one) <= bytesOf(other) ? [one, other] : [other, one];
  return [
    { stage, build, probe },
    { stage, build: probe, probe: build },
  ];
}

/** Whether nobody else needs what is not made then, and the tasks of `stage` can read what those of `probe` would. */
function mayAdapt(
  draft: Draft,
  stages: Stages,
  { stage, build, probe }: Sides,
  filters: readonly RuntimeFilter[],
): boolean {
  const { partitions } = draft;
  if (stages.readers(build.id) !== 1 || stages.readers(probe.id) !== 1) return false;
  if (probe.tasks !== partitions || stage.tasks !== partitions) return false;
  if (probe.nonDeterministic !== null || build.tasks * partitions > READS_MAX) return false;
  if (filters.some(({ keys }) => keys.stage === probe.id)) return false;
  const isFiltered = (id: number): boolean => filters.some((filter) => filter.stage === id);
  if (isFiltered(probe.id) && isFiltered(stage.id)) return false;
  const ofProbe = [...eachRelation(probe.relation)];
  const isCte = ({ kind }: Relation): boolean => kind === 'with' || kind === 'ref';
  // Both number what they compute once from 0.
  if (ofProbe.some(isCte) && [...eachRelation(stage.relation)].some(isCte)) return false;
  return ofProbe.every((each) => {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    return leaf?.kind !== 'stage' || leaf.mode === 'all';
  });
}

/** The one side may turn out to be small, the other is large, and waiting costs little. */
function pays(stages: Stages, { build, probe }: Sides, thresholdBytes: number): boolean {
  if (bytesOf(build) > FIT_RATIO * thresholdBytes || !stages.isGuess(build.id)) return false;
  if (bytesOf(probe) < thresholdBytes || bytesOf(probe) < bytesOf(build)) return false;
  return stages.waitsLittle(probe.id, build.id);
}

/** Null if it would be wrong: the whole plan is checked as it would be then. */
function alternative(draft: Draft, sides: Sides, isOrdered: boolean): DraftJoin | null {
  const { stage, build, probe } = sides;
  const made = new Draft(draft.partitions);
  for (const [name, leaf] of draft.leaves) made.leaves.set(name, leaf);
  const relation = made.addReading(build.id, 'all');
  const became = new Map<Relation, Relation>();
  const inlined = inline(draft, sides, relation, stage.relation, became);
  for (const each of draft.stages) {
    if (each.id === stage.id) made.stages.push({ ...each, relation: inlined });
    else if (each.id === build.id) made.stages.push({ ...each, output: { kind: 'whole' } });
    else made.stages.push(each);
  }
  for (const [before, after] of draft.partials)
    made.pairPartial(became.get(before) ?? before, became.get(after) ?? after);
  try {
    checkDraft(made, isOrdered);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invariant') return null;
    throw error;
  }
  return { stage: made.stages[stage.id] as DraftStage, build, probe, draft: made, relation };
}

/** The rows of `probe` are computed where they are joined. `became` are the relations that have changed. */
function inline(
  draft: Draft,
  sides: Sides,
  all: string,
  relation: Relation,
  became: Map<Relation, Relation>,
): Relation {
  const leaf = relation.kind === 'input' ? draft.leaves.get(relation.relation) : undefined;
  if (relation.kind === 'input') {
    if (leaf?.kind !== 'stage') return relation;
    if (leaf.stage === sides.probe.id) return sides.probe.relation;
    return leaf.stage === sides.build.id ? { ...relation, relation: all } : relation;
  }
  const inputs = inputsOf(relation);
  const rebuilt = inputs.map((input) => inline(draft, sides, all, input, became));
  if (rebuilt.every((each, at) => each === inputs[at])) return relation;
  const made = withInputs(relation, rebuilt);
  became.set(relation, made);
  return made;
}
