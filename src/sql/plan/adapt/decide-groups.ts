/**
 * The task that decides how the partitions of a stage are grouped. The leader completes it as soon as the producers
 * have ended. Its result is stored as JSON like that of every task, so a new leader and a recomputed task find the same
 * groups, whatever size a recomputed output has.
 */
import { fragmentTaskId, type Json } from '../../../scheduler/core/index.ts';
import type { FragmentResult, PartitionInfo } from '../physical/task.ts';
import { groupPartitions } from './group-partitions.ts';

/** Its input. */
export interface GroupingTask {
  readonly stage: number;
  readonly targetBytes: number;
  /** Processors of the cluster that the tasks of the stage share; null if not known. */
  readonly processors: number | null;
  /** Partitions of the output of a task of this stage. */
  readonly outputs: number;
  /** The layout of the producers' outputs, which that of an empty output has as well. */
  readonly layout: number;
  /** For each producer of each input: its partitions. */
  readonly parts: readonly (readonly PartitionInfo[])[];
}

/** Its result. */
export interface PartitionGroups {
  /** By task: the partitions that it reads. Each partition is in one of them; a task may have none. */
  readonly groups: readonly (readonly number[])[];
  /** For each of its tasks; absent if it may have all processors of its node. */
  readonly threads?: number;
  /** What it was decided from: of each partition over all inputs. */
  readonly bytes: readonly number[];
  readonly rows: readonly number[];
  readonly targetBytes: number;
  readonly slots: number;
}

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
  const { stage, targetBytes, processors, parts } = task;
  const [bytes, rows] = [sums(parts, (part) => part.bytes), sums(parts, (part) => part.rows)];
  const found = groupPartitions(bytes, { targetBytes, slots });
  const byTask: (readonly number[])[] = bytes.map(() => []);
  // The task of its first partition reads a group.
  for (const group of found) byTask[group[0] as number] = group;
  const decided: PartitionGroups = {
    groups: byTask,
    ...threadsOf(found.length, processors),
    ...{ bytes, rows, targetBytes, slots },
  };
  const idle = [...byTask.keys()].filter((at) => byTask[at]?.length === 0);
  const total = bytes.reduce((sum, each) => sum + each, 0);
  return {
    result: JSON.stringify(decided),
    detail: { partitions: bytes.length, tasks: found.length, bytes: total, targetBytes, slots },
    done: idle.map((at) => {
      const taskId = fragmentTaskId(stage, at);
      return { taskId, result: JSON.stringify(emptyResult(taskId, task)) };
    }),
  };
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
function emptyResult(task: string, { outputs, layout }: GroupingTask): FragmentResult {
  const nowhere = { fence: 0, node: '', address: null, folder: '', index: '', epoch: 0, layout };
  return {
    at: { task, ...nowhere },
    parts: Array.from({ length: outputs }, () => ({ rows: 0, bytes: 0, segments: [] })),
    inline: null,
    metrics: {
      rowsIn: 0,
      rowsOut: 0,
      bytesOut: 0,
      batches: 0,
      fetchedBytes: 0,
      localBytes: 0,
      fetchMs: 0,
      runMs: 0,
      writeMs: 0,
      spilledBytes: 0,
    },
  };
}
