/**
 * The task that decides whether one side of a join is broadcast. The leader completes it when the stage of that side has
 * ended, before the other side is exchanged. Its result is stored like that of every task, so a new leader and a
 * recomputed task run the same fragments.
 */
import type { Json } from '../../../scheduler/core/index.ts';
import { fragmentTaskId } from '../../../scheduler/core/index.ts';
import type { AdaptiveJoin, QueryPlan } from '../physical/plan.ts';
import type { PartitionInfo } from '../physical/task.ts';
import { groupingTasks } from './coalesced-stages.ts';
import { emptyResult, type GroupingDecision } from './decide-groups.ts';
import { filterTasks } from './filter-tasks.ts';

/** Its input. */
export interface JoinTask {
  readonly join: Omit<AdaptiveJoin, 'fragment' | 'relation'>;
  /** Of the stage whose size decides, as estimated. Its segments are compressed, which a hash table of its rows is not. */
  readonly rowBytes: number;
  /** Tasks of the stage that would not run, and the partitions of each. */
  readonly tasks: number;
  readonly outputs: number;
  readonly layout: number;
  /** For each task of the stage whose size decides: its partitions. */
  readonly parts: readonly (readonly Pick<PartitionInfo, 'rows' | 'bytes'>[])[];
  readonly fragments: { readonly broadcast: Json; readonly shuffled: Json };
}

/** Its result. The lists are for templates with `each`: what they are of is read if they have an element. */
export interface JoinDecision {
  readonly broadcast: boolean;
  readonly fragment: Json;
  /** The partitions of the smaller side that hold rows. */
  readonly all: readonly number[];
  readonly probe: readonly number[];
  readonly shuffled: readonly number[];
  /** What it was decided from. */
  readonly build: number;
  readonly probed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly thresholdBytes: number;
}

/** `input` was made here (`queryJob`), so its shape is trusted; the results in it were checked when they came. */
export function decideJoin(input: Json): GroupingDecision {
  const task = input as unknown as JoinTask;
  const { join, rowBytes, tasks, parts, fragments } = task;
  const { build, probe, thresholdBytes, probeBytes } = join;
  const rows = sumOf(parts, (part) => part.rows);
  const bytes = Math.max(
    sumOf(parts, (part) => part.bytes),
    Math.round(rows * rowBytes),
  );
  // Each further task reads all of it once more; what the other side would write and read is saved.
  const isWorth = probeBytes === null || bytes * (tasks - 1) <= 2 * probeBytes;
  const broadcast = bytes <= thresholdBytes && isWorth;
  const held = (parts[0] ?? []).flatMap((_, at) =>
    parts.some((producer) => (producer[at]?.rows ?? 0) > 0) ? [at] : [],
  );
  const decision: JoinDecision = {
    broadcast,
    fragment: broadcast ? fragments.broadcast : fragments.shuffled,
    all: broadcast ? held : [],
    probe: broadcast ? [0] : [],
    shuffled: broadcast ? [] : [0],
    ...{ build, probed: probe, rows, bytes, thresholdBytes },
  };
  const left = broadcast ? Array.from({ length: tasks }, (_, at) => at) : [];
  return {
    result: JSON.stringify(decision),
    detail: { broadcast: Number(broadcast), rows, bytes, thresholdBytes },
    done: left.map((at) => {
      const taskId = fragmentTaskId(probe, at);
      return { taskId, result: JSON.stringify(emptyResult(taskId, task)) };
    }),
  };
}

function sumOf(
  parts: JoinTask['parts'],
  figure: (part: Pick<PartitionInfo, 'rows' | 'bytes'>) => number,
): number {
  return parts.flat().reduce((sum, part) => sum + figure(part), 0);
}

/** Of each task that decides: they come behind those that filter scans, in the order of their stages. */
export function joinTasks(
  plan: QueryPlan,
): readonly { readonly no: number; readonly stage: number; readonly join: AdaptiveJoin }[] {
  const { joins = [], stages } = plan;
  const fragments = stages.reduce((total, { tasks }) => total + tasks, 1);
  const first = fragments + groupingTasks(plan).length + filterTasks(plan).length;
  return joins.map((join, at) => ({ no: first + at, stage: join.stage, join }));
}
