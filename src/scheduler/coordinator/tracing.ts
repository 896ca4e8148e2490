/**
 * The leader's part in traces: a span for a submission that came without one, the span of a job when it has ended, and
 * the place under which the attempts of a job report. Nothing is kept open: a job may take months.
 */
import {
  QUERY_OUTPUT_START,
  decodeJobOptions,
  isMillraceError,
  readTrace,
  traceIdOf,
} from '../core/index.ts';
import type {
  Assignment,
  JobDocument,
  JobId,
  JobNo,
  JobRow,
  NamedBatch,
  Trace,
} from '../core/index.ts';
import { canChooseIds, derivedId, isTracing, startSpan } from '../../kit/index.ts';
import type { JobReply, SubmitOptions } from '../contract/index.ts';

/** Submits the document with its place in a trace: its own, that of the call, or one that begins here. */
export function traceSubmit(
  document: JobDocument,
  { jobId, trace = null }: Pick<SubmitOptions, 'jobId' | 'trace'>,
  submit: (document: JobDocument) => Promise<JobReply>,
): Promise<JobReply> {
  const isPlaced = document.options.trace !== null || trace !== null;
  if (isPlaced || !isTracing()) return submit(inTrace(document, trace));
  return inNewTrace(document, jobId, submit);
}

/** At its own place, or else at that of the call. */
export function inTrace(document: JobDocument, trace: Trace | null): JobDocument {
  return trace === null || document.options.trace !== null ? document : placed(document, trace);
}

async function inNewTrace(
  document: JobDocument,
  jobId: JobId,
  submit: (document: JobDocument) => Promise<JobReply>,
): Promise<JobReply> {
  const name = shownName(document.name, document.output, document.tasks.length);
  const span = startSpan(`submit ${name}`, {
    kind: 'producer',
    attributes: { ...SENDS, ...about(jobId, name), 'millrace.job.tasks': document.tasks.length },
  });
  if (span === null) return submit(document);
  try {
    return await submit(placed(document, readTrace(span.place.parent, span.place.state)));
  } catch (error) {
    span.fail(isMillraceError(error) ? error.code : 'unknown');
    throw error;
  } finally {
    span.end();
  }
}

const SENDS = {
  'messaging.system': 'millrace',
  'messaging.operation.name': 'submit',
  'messaging.operation.type': 'send',
} as const;

function placed(document: JobDocument, trace: Trace | null): JobDocument {
  return { ...document, options: { ...document.options, trace } };
}

/**
 * Where the attempts of a job belong: under the job's own span if this leader can emit that under an id that is known
 * before, otherwise under whoever has submitted the job.
 */
export function attemptPlace({
  jobId,
  run,
  trace,
}: Pick<Assignment, 'jobId' | 'run' | 'trace'>): Trace | null {
  if (!isTracing() || !canChooseIds()) return trace;
  const flags = trace === null ? '01' : trace.parent.slice(-2);
  const { traceId, spanId } = jobIds(jobId, run, trace);
  return { parent: `00-${traceId}-${spanId}-${flags}`, state: trace?.state ?? null };
}

/** The same for every leader. */
function jobIds(
  jobId: JobId,
  run: number,
  trace: Trace | null,
): { readonly traceId: string; readonly spanId: string } {
  return {
    traceId: trace === null ? derivedId(16, ['trace', jobId]) : traceIdOf(trace),
    spanId: derivedId(8, ['job', jobId, run]),
  };
}

/** Emits the spans of the jobs that have ended with this commit. */
export function traceEnds({ events, jobInserts, jobUpdates }: NamedBatch): void {
  if (!isTracing()) return;
  let rows: ReadonlyMap<JobNo, JobRow> | null = null;
  for (const { kind, jobNo, taskNo } of events) {
    if (jobNo === null || taskNo !== null || !ENDS.has(kind)) continue;
    rows ??= new Map([...jobInserts, ...jobUpdates].map((row) => [row.no, row]));
    const row = rows.get(jobNo);
    if (row !== undefined) traceEnd(row);
  }
}

const ENDS: ReadonlySet<string> = new Set(['job.succeeded', 'job.failed', 'job.cancelled']);

function traceEnd(row: JobRow): void {
  const { id, run, state, taskCount, error, createdAt, startedAt, finishedAt } = row;
  if (finishedAt === null) return;
  const name = shownName(row.name, row.output, taskCount);
  const { trace } = decodeJobOptions(row.options);
  const span = startSpan(`job ${name}`, {
    kind: 'internal',
    parent: trace,
    ids: jobIds(id, run, trace),
    // When a re-run was asked for is not known.
    startMs: run === 1 ? createdAt : (startedAt ?? finishedAt),
    attributes: {
      ...about(id, name),
      'millrace.job.run': run,
      'millrace.job.state': state,
      'millrace.job.tasks': taskCount,
    },
  });
  if (state === 'failed') span?.fail(error?.code ?? 'failed');
  span?.end(finishedAt);
}

/** The text of a query, which is its name, may contain anything. One that was refused has no tasks. */
function shownName(name: string, output: string | null, taskCount: number): string {
  if (output?.startsWith(QUERY_OUTPUT_START) === true) return 'query';
  return taskCount === 0 ? 'refused' : name;
}

function about(id: JobId, name: string): { readonly [key: string]: string } {
  return { 'millrace.job.id': id, 'millrace.job.name': name };
}
