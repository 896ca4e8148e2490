/** What a new leader loads, and what people see. */
import { awaitedSignals, awaitsSignal, starterPart } from '../../core/index.ts';
import type { JobNo, KeyRow, SignalRow, TaskRef, TaskRow, TaskSpecRow } from '../../core/index.ts';
import {
  type EventView,
  type JobFilter,
  type JobImage,
  type JobPortion,
  type JobView,
  type ListedJob,
  refKey,
  type TaskView,
} from '../store.ts';
import type { JobRecord, Shard, TaskRecord } from './shard.ts';

const byTaskNo = (a: TaskRecord, b: TaskRecord): number => a.spec.taskNo - b.spec.taskNo;
const byJobNo = (a: JobRecord, b: JobRecord): number => a.row.no - b.row.no;

export const recordsOf = (job: JobRecord): TaskRecord[] =>
  [...job.tasks.values()].toSorted(byTaskNo);

export const signalsOf = (job: JobRecord): SignalRow[] =>
  [...(job.signals?.byNo.values() ?? [])].toSorted((a, b) => a.no - b.no);

function liveJobs(shard: Shard): JobRecord[] {
  return [...shard.live].flatMap((no) => shard.jobs.get(no) ?? []);
}

export function imageOf(shard: Shard, job: JobRecord): JobImage {
  const specs: TaskSpecRow[] = [];
  const tasks: TaskRow[] = [];
  for (const { spec, task } of recordsOf(job)) {
    if (task === null) continue;
    specs.push(spec.input === null ? spec : { ...spec, input: null });
    tasks.push(task);
  }
  const keys: KeyRow[] = [...(job.scopes ?? [])].flatMap((scope) => shard.keys.get(scope) ?? []);
  const signals = signalsOf(job).map((signal) => ({ ...signal, body: '' }));
  return { job: job.row, specs, tasks, keys, signals };
}

function hasRunningTask(job: JobRecord): boolean {
  for (const { task } of job.tasks.values()) if (task?.state === 'running') return true;
  return false;
}

export function busyJobs(shard: Shard): JobImage[] {
  return liveJobs(shard)
    .filter(hasRunningTask)
    .toSorted((a, b) => a.row.priority - b.row.priority || byJobNo(a, b))
    .map((job) => imageOf(shard, job));
}

export function portion(shard: Shard, priority: number, from: JobNo, limit: number): JobPortion {
  const found = liveJobs(shard)
    .filter(({ row }) => row.priority === priority && row.no >= from)
    .toSorted(byJobNo);
  const jobs = found.slice(0, limit).map((job) => imageOf(shard, job));
  return { jobs, next: found[limit]?.row.no ?? null };
}

export function taskView(record: TaskRecord): TaskView | null {
  const { spec, task, results } = record;
  return task === null ? null : { spec, task, result: results?.get(task.run) ?? null };
}

export function jobView(job: JobRecord): JobView {
  const records = recordsOf(job);
  return {
    job: job.row,
    tasks: records.flatMap((record) => taskView(record) ?? []),
    history: records.flatMap((record) => record.history ?? []).toSorted(byRun),
  };
}

const byRun = (a: TaskRow, b: TaskRow): number => a.run - b.run || a.taskNo - b.taskNo;

export function listJobs(shard: Shard, filter: JobFilter): ListedJob[] {
  const { state, name, labels = [], waitingFor, before = Infinity, limit } = filter;
  const { since = -Infinity, until = Infinity, schedule, startedBy } = filter;
  const starter = startedBy === undefined ? undefined : starterPart(startedBy);
  return [...shard.jobs.values()]
    .filter((job) => waitingFor === undefined || waitsOf(job, waitingFor).length > 0)
    .filter(({ row }) => row.no < before && row.createdAt >= since && row.createdAt < until)
    .filter(({ row }) => state === undefined || row.state === state)
    .filter(({ row }) => name === undefined || row.name === name)
    .filter(({ row }) => schedule === undefined || row.scheduleId === schedule)
    .filter(({ row }) => starter === undefined || row.options?.includes(starter) === true)
    .filter(({ row }) => labels.every((label) => row.labels.includes(label)))
    .toSorted((a, b) => byJobNo(b, a))
    .slice(0, limit)
    .map((job) =>
      waitingFor === undefined
        ? job.row
        : { ...job.row, waitsFor: awaitedSignals(waitsOf(job, waitingFor)) },
    );
}

function waitsOf({ tasks }: JobRecord, signal: string): string[] {
  const waits = [...tasks.values()].map(({ task }) => task?.waits ?? null);
  return waits.filter((text) => text !== null && awaitsSignal(text, signal)) as string[];
}

/** Events are contiguous, so the first wanted one is found by its number. */
export function listEvents(
  shard: Shard,
  from: number,
  limit: number,
  jobNo: JobNo | undefined,
): EventView[] {
  const views: EventView[] = [];
  for (let at = from; at < shard.events.length && views.length < limit; at += 1) {
    const event = shard.events[at];
    if (event === undefined || (jobNo !== undefined && event.jobNo !== jobNo)) continue;
    const job = event.jobNo === null ? undefined : shard.jobs.get(event.jobNo);
    const task = event.taskNo === null ? undefined : job?.tasks.get(event.taskNo);
    views.push({ ...event, jobId: job?.row.id ?? null, taskId: task?.spec.id ?? null });
  }
  return views;
}

/** Inputs or results of tasks, by `refKey`. */
export function payloads(
  { jobs }: Shard,
  refs: readonly TaskRef[],
  pick: (record: TaskRecord) => string | null,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { jobNo, taskNo } of refs) {
    const record = jobs.get(jobNo)?.tasks.get(taskNo);
    const body = record === undefined ? null : pick(record);
    if (body !== null) found.set(refKey(jobNo, taskNo), body);
  }
  return found;
}
