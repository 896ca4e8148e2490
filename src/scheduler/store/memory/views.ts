/** What people see of nodes, of tasks that are out of attempts, and how many jobs there are. */
import {
  type DeadFilter,
  type DeadTask,
  type JobCounts,
  NO_JOBS,
  type NodeView,
} from '../store.ts';
import { recordsOf } from './images.ts';
import type { JobRecord, Shard } from './shard.ts';

/** In the order of the other stores: by bytes. */
export function byId<T extends { readonly id: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
}

export function nodeViews(shard: Shard): NodeView[] {
  const running = new Map<string, number>();
  for (const no of shard.live) {
    for (const { task } of shard.jobs.get(no)?.tasks.values() ?? []) {
      if (task?.state !== 'running' || task.nodeId === null) continue;
      running.set(task.nodeId, (running.get(task.nodeId) ?? 0) + 1);
    }
  }
  const nodes = byId([...shard.nodes.values()]);
  return nodes.map((node) => ({ ...node, running: running.get(node.id) ?? 0 }));
}

export function deadTasks(shard: Shard, { before, limit }: DeadFilter): DeadTask[] {
  const jobs = [...shard.jobs.values()].toSorted((a, b) => b.row.no - a.row.no);
  const dead = jobs.flatMap((job) => deadOf(job));
  const wanted = dead.filter(
    ({ task: { jobNo, taskNo } }) =>
      before === undefined ||
      jobNo < before.jobNo ||
      (jobNo === before.jobNo && taskNo < before.taskNo),
  );
  return wanted.slice(0, limit);
}

function deadOf(job: JobRecord): DeadTask[] {
  const records = recordsOf(job).toReversed();
  return records.flatMap(({ spec, task }) =>
    task?.state === 'failed' && task.error?.code === 'dead'
      ? [{ jobId: job.row.id, taskId: spec.id, executor: spec.executor, task }]
      : [],
  );
}

export function countJobs(shard: Shard, newest: number): JobCounts {
  const rows = [...shard.jobs.values()].map(({ row }) => row).toSorted((a, b) => b.no - a.no);
  const counts = { ...NO_JOBS };
  for (const { state } of rows.slice(0, newest)) counts[state] += 1;
  return counts;
}
