/** The life of single-task jobs as three batches, row for row what the core writes. */
import { batchOf, instant, jobNo, taskNo } from '../src/scheduler/core/index.ts';
import type { Batch, EventRow, JobRow, LogKind } from '../src/scheduler/core/index.ts';
import {
  aJob,
  aSpec,
  aTask,
  anEvent,
  jobId,
  running,
  succeeded,
} from '../test/rig/conformance/rows.ts';

const AT = instant(Date.now());
const INPUT = '{"url":"https://example.org/x","rows":[1,2,3]}';
const RESULT = '{"status":200,"body":{"rows":3}}';

/** Where the next cycle starts. */
export interface Counters {
  job: number;
  seq: number;
  commit: number;
}

export const newCounters = (): Counters => ({ job: 1, seq: 0, commit: 0 });

/** Submit, run, succeed, for `count` new jobs: eight log entries and three images of the task's row each. */
export function nextCycle(counters: Counters, count: number): readonly Batch[] {
  const numbers = Array.from({ length: count }, (_, at) => counters.job + at);
  counters.job += count;
  const nextJobNo = jobNo(counters.job);
  const events = (...kinds: LogKind[]): EventRow[] =>
    numbers.flatMap((no) => kinds.map((kind) => eventOf(counters, no, kind)));
  const job = (no: number, parts: Partial<JobRow>): JobRow => aJob(no, { id: idOf(no), ...parts });
  const submitted = events('job.created', 'created', 'queued');
  const submit = batchOf({
    commitNo: (counters.commit += 1),
    lastSeq: counters.seq,
    nextJobNo,
    jobInserts: numbers.map((no) => job(no, { state: 'queued', startedAt: null })),
    specInserts: numbers.map((no) => aSpec(no, 0, { input: INPUT })),
    taskInserts: numbers.map((no) => aTask(no, 0)),
    events: submitted,
  });
  const assigned = events('assigned', 'job.started');
  const run = batchOf({
    commitNo: (counters.commit += 1),
    lastSeq: counters.seq,
    nextJobNo,
    jobUpdates: numbers.map((no) => job(no, { state: 'running', startedAt: AT })),
    taskUpdates: numbers.map((no) => running(no, 0)),
    events: assigned,
  });
  const ended = events('started', 'completed', 'job.succeeded');
  const succeed = batchOf({
    commitNo: (counters.commit += 1),
    lastSeq: counters.seq,
    nextJobNo,
    jobUpdates: numbers.map((no) => job(no, { state: 'succeeded', startedAt: AT, finishedAt: AT })),
    taskUpdates: numbers.map((no) => succeeded(no, 0, { finishedAt: AT })),
    results: numbers.map((no) => ({ jobNo: jobNo(no), taskNo: taskNo(0), run: 1, body: RESULT })),
    events: ended,
  });
  return [submit, run, succeed];
}

function idOf(no: number): JobRow['id'] {
  return jobId(`01932f5c-6a10-7c3e-9b7a-${no.toString(16).padStart(12, '0')}`);
}

function eventOf(counters: Counters, no: number, kind: LogKind): EventRow {
  counters.seq += 1;
  const isTask = !kind.startsWith('job.');
  return anEvent(counters.seq, {
    at: AT,
    kind,
    jobNo: jobNo(no),
    taskNo: isTask ? taskNo(0) : null,
    run: 1,
    attempt: isTask ? 1 : null,
    fence: isTask ? 1 : null,
  });
}
