/**
 * The task that decides which partitions each task of a stage reads. The leader completes it as soon as the producers
 * have ended. Its result is stored as JSON like that of every task, so a new leader and a recomputed task find the same
 * groups, whatever size a recomputed output has.
 */
import { fragmentTaskId, type Json } from '../../../scheduler/core/index.ts';
import { SPLIT_VERSION, type SkewLimits } from '../physical/plan.ts';
import { NO_METRICS, type FragmentResult, type PartitionInfo } from '../physical/task.ts';
import {
  sizesOf,
  spreadPartitions,
  type Piece,
  type SkewInput,
  type SkewedPartition,
} from './split-skew.ts';

/** Its input. */
export interface GroupingTask {
  readonly stage: number;
  readonly targetBytes: number;
  /** Absent if no partition is split. */
  readonly skew?: SkewLimits;
  /** Processors of the cluster that the tasks of the stage share; null if not known. */
  readonly processors: number | null;
  /** Partitions of the output of a task of this stage. */
  readonly outputs: number;
  /** The layout of the producers' outputs, which that of an empty output has as well. */
  readonly layout: number;
  /** The version of a task whose partitions are not split; absent for version 2. */
  readonly version?: number;
  /** One side of the stage's join is in every task, and the other is read where it is: no task reads partitions. */
  readonly isBroadcast?: boolean;
  /** What `parts` are of, in order: so many producers of each. Absent in a task that an older leader has made. */
  readonly inputs?: readonly GroupedInput[];
  /** For each producer of each input: its partitions. */
  readonly parts: readonly (readonly PartitionInfo[])[];
}

export interface GroupedInput extends Pick<SkewInput, 'relation' | 'stage' | 'maySplit'> {
  readonly producers: number;
}

/** Its result. */
export interface PartitionGroups {
  /** By task: the partitions that it reads. Each partition is in one of them, or in several if it is split; a task may have none. */
  readonly groups: readonly (readonly number[])[];
  /** For each input that may be split, by task: its partitions, as a number or as some producers of a partition. */
  readonly reads?: Readonly<Record<string, readonly (readonly PartitionSlice[])[]>>;
  /** Of each of its tasks; absent for version 2. */
  readonly version?: number;
  /** For each of its tasks; absent if it may have all processors of its node. */
  readonly threads?: number;
  /** What it was decided from: of each partition over all inputs. */
  readonly bytes: readonly number[];
  readonly rows: readonly number[];
  readonly targetBytes: number;
  readonly slots: number;
  /** Nothing was grouped, since no task reads partitions. */
  readonly isBroadcast?: true;
  /** Partitions that were too large for one task; absent if there are none. */
  readonly skewed?: readonly MeasuredSkew[];
}

export interface MeasuredSkew extends SkewedPartition {
  readonly rows: number;
  readonly bytes: number;
}

/** In the form of templates with `each`: an object takes those of the producers `from` up to but not including `to`. */
type PartitionSlice =
  | number
  | { readonly item: number; readonly from: number; readonly to: number };

export interface GroupingDecision {
  readonly result: string;
  readonly detail: Readonly<Record<string, number>>;
  readonly done: readonly {
    readonly taskId: ReturnType<typeof fragmentTaskId>;
    readonly result: string;
  }[];
}

/** `input` was made here (`queryJob`), so its shape is trusted. `slots` is how many fragments can run at once. */
export function decideGroups(input: Json, slots: number): GroupingDecision {
  const task = input as unknown as GroupingTask;
  if (task.isBroadcast === true) return nothingGrouped(task, slots);
  const { stage, targetBytes, processors, parts, skew = null, inputs = [] } = task;
  const [bytes, rows] = [sums(parts, (part) => part.bytes), sums(parts, (part) => part.rows)];
  const sized = sizedInputs(task);
  const found = spreadPartitions(bytes, sized, { targetBytes, slots }, skew);
  const { groups } = found;
  const skewed = found.skewed.map(({ partition, ...how }) => ({
    ...{ partition, rows: rows[partition] as number, bytes: bytes[partition] as number },
    ...how,
  }));
  const byTask = tasksOf(groups, bytes.length);
  const decided: PartitionGroups = {
    groups: byTask.map((pieces) => pieces.map(({ partition }) => partition)),
    ...readsOf(byTask, inputs),
    ...versionOf(byTask, task),
    ...threadsOf(groups.length, processors),
    ...{ bytes, rows, targetBytes, slots },
    ...(skewed.length === 0 ? {} : { skewed }),
  };
  const idle = [...byTask.keys()].filter((at) => byTask[at]?.length === 0);
  const total = bytes.reduce((sum, each) => sum + each, 0);
  const split = skewed.filter(({ tasks }) => tasks > 1).length;
  return {
    result: JSON.stringify(decided),
    detail: {
      ...{ partitions: bytes.length, tasks: groups.length, bytes: total, targetBytes, slots },
      ...(skewed.length === 0 ? {} : { skewed: skewed.length, split }),
    },
    done: idle.map((at) => {
      const taskId = fragmentTaskId(stage, at);
      return { taskId, result: JSON.stringify(emptyResult(taskId, task)) };
    }),
  };
}

/** Each task has work, but none of it in partitions. */
function nothingGrouped(task: GroupingTask, slots: number): GroupingDecision {
  const { parts, targetBytes, processors, inputs = [] } = task;
  const byTask: readonly (readonly Piece[])[] = (parts[0] ?? []).map(() => []);
  const decided: PartitionGroups = {
    groups: byTask.map(() => []),
    ...readsOf(byTask, inputs),
    ...versionOf(byTask, task),
    ...threadsOf(byTask.length, processors),
    ...{ bytes: [], rows: [], targetBytes, slots },
    isBroadcast: true,
  };
  const detail = { partitions: 0, tasks: byTask.length, targetBytes, slots };
  return { result: JSON.stringify(decided), detail, done: [] };
}

function sizedInputs({ inputs, parts }: GroupingTask): readonly SkewInput[] {
  if (inputs === undefined)
    return [{ relation: '', stage: 0, maySplit: false, sizes: sizesOf(parts) }];
  let first = 0;
  return inputs.map(({ producers, ...input }) => {
    first += producers;
    return { ...input, sizes: sizesOf(parts.slice(first - producers, first)) };
  });
}

/** A group is read by the task of its first partition; where the groups share partitions, by the task of its number. */
function tasksOf(
  groups: readonly (readonly Piece[])[],
  tasks: number,
): readonly (readonly Piece[])[] {
  const byTask: (readonly Piece[])[] = Array.from({ length: tasks }, () => []);
  const isSplit = groups.some((group) => group.some(({ of }) => of !== null));
  for (const [at, group] of groups.entries())
    byTask[isSplit ? at : (group[0] as Piece).partition] = group;
  return byTask;
}

function readsOf(
  byTask: readonly (readonly Piece[])[],
  inputs: readonly GroupedInput[],
): Pick<PartitionGroups, 'reads'> {
  const may = inputs.filter(({ maySplit }) => maySplit);
  if (may.length === 0) return {};
  const slice = ({ partition, of }: Piece, relation: string): PartitionSlice =>
    of?.input.relation === relation ? { item: partition, from: of.from, to: of.to } : partition;
  const lists = may.map(({ relation }) => [
    relation,
    byTask.map((pieces) => pieces.map((piece) => slice(piece, relation))),
  ]);
  return { reads: Object.fromEntries(lists) as NonNullable<PartitionGroups['reads']> };
}

function versionOf(
  byTask: readonly (readonly Piece[])[],
  { version }: GroupingTask,
): Pick<PartitionGroups, 'version'> {
  if (byTask.flat().some(({ of }) => of !== null)) return { version: SPLIT_VERSION };
  return version === undefined ? {} : { version };
}

function sums(
  parts: GroupingTask['parts'],
  figure: (part: PartitionInfo) => number,
): readonly number[] {
  const all: number[] = [];
  for (const producer of parts)
    for (const [at, part] of producer.entries()) all[at] = (all[at] ?? 0) + figure(part);
  return all;
}

/** A stage of one task may use all processors of its node. */
function threadsOf(tasks: number, processors: number | null): { readonly threads?: number } {
  if (processors === null || tasks === 1) return {};
  return { threads: Math.max(1, Math.floor(processors / tasks)) };
}

/** What a task without partitions would answer. It lies nowhere, and has nothing that could be fetched. */
export function emptyResult(
  task: string,
  { outputs, layout }: Pick<GroupingTask, 'outputs' | 'layout'>,
): FragmentResult {
  const nowhere = { fence: 0, node: '', address: null, folder: '', index: '', epoch: 0, layout };
  return {
    at: { task, ...nowhere },
    parts: Array.from({ length: outputs }, () => ({ rows: 0, bytes: 0, segments: [] })),
    inline: null,
    metrics: NO_METRICS,
  };
}
