/**
 * The events of a chunk when most are those of one job, again and again: a block has the events of one job, and the jobs that
 * have had the same. Cells come in the order of the columns of a chunk, without the job.
 */
import { type EventRow, type Instant, logKindNumber } from '../core/index.ts';

export type Cell = string | number | null;

/** Jobs by the distance of their numbers from the lowest, as `[first, how many, first, how many]`; null when there is none. */
export type Block = readonly [jobs: readonly number[] | null, events: readonly (readonly Cell[])[]];

interface Draft {
  readonly jobs: number[] | null;
  /** Where its first job is in the list, and how many events that has. */
  readonly from: number;
  readonly length: number;
}

/** Null when columns are shorter. */
export function blocksOf(
  events: readonly EventRow[],
  newest: Instant,
  jobMin: number,
): readonly Block[] | null {
  const drafts: Draft[] = [];
  let patterns = 0;
  let from = 0;
  while (from < events.length) {
    const length = lengthOfJob(events, from);
    const job = events[from]?.jobNo ?? null;
    const last = drafts.at(-1);
    if (job === null || !last?.jobs || !isRepeated(events, last, from, length)) {
      patterns += length;
      if (patterns * 2 > events.length) return null;
      drafts.push({ jobs: job === null ? null : [job - jobMin, 1], from, length });
    } else {
      addJob(last.jobs, job - jobMin);
    }
    from += length;
  }
  return drafts.map((draft) => [
    draft.jobs,
    events
      .slice(draft.from, draft.from + draft.length)
      .map((event) => [
        ...[logKindNumber(event.kind), newest - event.at, event.taskNo, event.nodeId],
        ...[event.run, event.attempt, event.fence, event.detail],
      ]),
  ]);
}

/** Events side by side that are about the same job. */
function lengthOfJob(events: readonly EventRow[], from: number): number {
  const job = events[from]?.jobNo ?? null;
  let to = from + 1;
  if (job !== null) while (to < events.length && events[to]?.jobNo === job) to += 1;
  return to - from;
}

function isRepeated(
  events: readonly EventRow[],
  block: Draft,
  from: number,
  length: number,
): boolean {
  if (block.length !== length) return false;
  for (let at = 0; at < length; at += 1) {
    const one = events[block.from + at];
    const other = events[from + at];
    if (one === undefined || other === undefined || !isAlike(one, other)) return false;
  }
  return true;
}

function isAlike(one: EventRow, other: EventRow): boolean {
  return (
    one.kind === other.kind &&
    one.at === other.at &&
    one.taskNo === other.taskNo &&
    one.nodeId === other.nodeId &&
    one.run === other.run &&
    one.attempt === other.attempt &&
    one.fence === other.fence &&
    one.detail === other.detail
  );
}

function addJob(jobs: number[], job: number): void {
  const count = jobs.at(-1) ?? 0;
  if (job === (jobs.at(-2) ?? 0) + count) jobs[jobs.length - 1] = count + 1;
  else jobs.push(job, 1);
}

/** The cells of each event, now with the job in its place. */
export function cellsIn(blocks: readonly Block[]): Cell[][] {
  const rows: Cell[][] = [];
  for (const [jobs, events] of blocks) {
    for (const job of jobs === null ? [null] : jobsIn(jobs)) {
      for (const [kind = null, ago = null, ...rest] of events) rows.push([kind, ago, job, ...rest]);
    }
  }
  return rows;
}

function jobsIn(runs: readonly number[]): number[] {
  const jobs: number[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let step = 0; step < (runs[at + 1] ?? 0); step += 1) jobs.push((runs[at] ?? 0) + step);
  }
  return jobs;
}
