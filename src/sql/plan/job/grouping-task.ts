/** Templates for stages whose partitions are grouped: the input of the task that decides, and what the tasks read then. */
import {
  fragmentTaskId,
  groupsTaskId,
  joinTaskId,
  type Json,
  type JsonObject,
} from '../../../scheduler/core/index.ts';
import type { GroupingTask } from '../adapt/decide-groups.ts';
import { type ExchangeInput, type QueryPlan, type Stage, versionOf } from '../physical/plan.ts';

export function groupingInput(
  { stages, coalesce, joins = [] }: QueryPlan,
  { id, fragment, output, splits = [] }: Stage,
  processors: number | null,
): Json {
  const inputs = fragment.inputs
    .filter(({ mode }) => mode === 'partition')
    .map(({ relation, stage }) => ({
      ...{ relation, stage, producers: stages[stage]?.tasks ?? 0 },
      maySplit: splits.includes(relation),
    }));
  const producers = inputs.flatMap(({ stage, producers: count }) =>
    Array.from({ length: count }, (_, at) => fragmentTaskId(stage, at)),
  );
  const join = joins.find(({ stage }) => stage === id);
  const fragments = [fragment, ...(join === undefined ? [] : [join.fragment])];
  const version = versionOf(fragments.map((each) => ({ fragment: each, output })));
  const input: Record<Exclude<keyof GroupingTask, 'skew' | 'version' | 'isBroadcast'>, Json> = {
    stage: id,
    targetBytes: coalesce?.targetBytes ?? 0,
    processors,
    outputs: output.kind === 'hash' || output.kind === 'range' ? output.partitions : 1,
    layout: { $from: producers[0] as string, path: '/at/layout' },
    inputs,
    parts: producers.map(($from) => ({ $from, path: '/parts' })),
  };
  const { skew } = coalesce ?? {};
  return {
    ...input,
    ...(version === 2 ? {} : { version }),
    ...(join === undefined ? {} : { isBroadcast: { $from: joinTaskId(id), path: '/broadcast' } }),
    ...(skew === undefined ? {} : { skew: { factor: skew.factor, minBytes: skew.minBytes } }),
  };
}

/** What a task of the stage takes from the decision beside its partitions. */
export function decidedFields({ id, splits }: Stage): JsonObject {
  const field = (path: string): Json => ({ $from: groupsTaskId(id), path, missing: 'omit' });
  return {
    threads: field('/threads'),
    ...(splits === undefined ? {} : { version: field('/version') }),
  };
}

/** The partitions are known when the task that decides about them has ended: each of every producer that it names. */
export function groupReads(
  input: ExchangeInput,
  { id, splits = [] }: Stage,
  task: number,
  producers: readonly number[],
): Json {
  return {
    $from: groupsTaskId(id),
    path: splits.includes(input.relation) ? `/reads/${input.relation}/${task}` : `/groups/${task}`,
    each: producers.map((producer) => {
      const $from = fragmentTaskId(input.stage, producer);
      return {
        at: { $from, path: '/at' },
        partition: { $item: true },
        part: { $from, path: '/parts/*' },
      };
    }),
  };
}
