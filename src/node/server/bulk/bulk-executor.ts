/**
 * Acts on all jobs that fit a filter, page by page. A finished page is a step of the task, so an attempt after a crash
 * repeats one page at most, and each action on a job may be repeated without harm.
 */
import { isFinished, isMillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, Json } from '../../../scheduler/core/index.ts';
import { BULK_EXECUTOR, cursorOf, readBulkRequest } from '../../../scheduler/contract/index.ts';
import type {
  BulkChange,
  BulkOutcome,
  BulkRequest,
  JobService,
  JobSummary,
  Reader,
} from '../../../scheduler/contract/index.ts';
import type { Executor, TaskContext } from '../../../tasks/executors/index.ts';

export interface BulkParts {
  readonly jobs: () => Pick<
    JobService,
    'cancel' | 'rerun' | 'redrive' | 'remove' | 'signal' | 'setPriority' | 'reschedule'
  >;
  readonly reader: Pick<Reader, 'job' | 'jobs'>;
}

const PAGE = 200;
const AT_ONCE = 8;
const ERRORS_MAX = 10;

const HAS_CHANGED: ReadonlySet<string> = new Set(['not_found', 'expired', 'conflict']);

const NOTHING: BulkOutcome = { found: 0, changed: 0, unchanged: 0, failed: 0, errors: [] };

type BulkPage = BulkOutcome & { readonly cursor: string | null };

export function bulkExecutor(parts: BulkParts): Executor {
  return {
    name: BULK_EXECUTOR,
    async run(input: Json, context: TaskContext): Promise<BulkOutcome> {
      const request = readBulkRequest(input);
      // Jobs that are newer than this one are left alone, and it does not find itself.
      const { value: own } = await parts.reader.job(context.jobId);
      let cursor: string | null = own === null ? null : cursorOf('jobs', [own.no]);
      let total = NOTHING;
      for (let no = 1; cursor !== null; no += 1) {
        context.signal.throwIfAborted();
        const from: string = cursor;
        const page: BulkPage = await context.step(`page ${no}`, () =>
          onPage(parts, request, from, context.jobId),
        );
        total = sum(total, page);
        ({ cursor } = page);
      }
      return total;
    },
  };
}

function sum(a: BulkOutcome, b: BulkOutcome): BulkOutcome {
  return {
    found: a.found + b.found,
    changed: a.changed + b.changed,
    unchanged: a.unchanged + b.unchanged,
    failed: a.failed + b.failed,
    errors: [...a.errors, ...b.errors].slice(0, ERRORS_MAX),
  };
}

type ListedJob = Pick<JobSummary, 'id' | 'run' | 'state'>;

async function onPage(
  parts: BulkParts,
  { filter, ...change }: BulkRequest,
  cursor: string,
  bulkId: JobId,
): Promise<BulkPage> {
  const { value: page } = await parts.reader.jobs({ ...filter, limit: PAGE, cursor });
  let outcome = NOTHING;
  for (let at = 0; at < page.items.length; at += AT_ONCE) {
    const group = page.items.slice(at, at + AT_ONCE);
    const outcomes = await Promise.all(
      group.map((job) => onJob(job, () => act(parts, change, job, bulkId))),
    );
    outcome = outcomes.reduce(sum, outcome);
  }
  return { ...outcome, cursor: page.cursor };
}

async function onJob(job: ListedJob, change: () => Promise<boolean>): Promise<BulkOutcome> {
  const one = { ...NOTHING, found: 1 };
  try {
    return (await change()) ? { ...one, changed: 1 } : { ...one, unchanged: 1 };
  } catch (error) {
    // It was removed, is about to be, or has changed since it was listed.
    if (isMillraceError(error) && HAS_CHANGED.has(error.code)) return { ...one, unchanged: 1 };
    // Anything else concerns the leader or the store, not this job: the page is repeated.
    if (!isMillraceError(error, 'bad_input') && !isMillraceError(error, 'too_large')) throw error;
    return { ...one, failed: 1, errors: [{ job: job.id, message: error.message }] };
  }
}

/** Whether anything has changed. */
async function act(
  { jobs, reader }: BulkParts,
  change: BulkChange,
  { id, run, state }: ListedJob,
  bulkId: JobId,
): Promise<boolean> {
  const hasFailed = state === 'failed' || state === 'cancelled';
  // What has ended need not be loaded to find that out.
  const isLive = !isFinished(state);
  switch (change.action) {
    case 'cancel':
      return (await jobs().cancel(id, 'cancelled in bulk')).changed;
    case 'rerun':
      return hasFailed && (await jobs().rerun(id, run)).changed;
    case 'redrive': {
      if (state !== 'failed') return false;
      const { value: job } = await reader.job(id);
      const dead = (job?.tasks ?? []).filter(({ error }) => error?.code === 'dead');
      for (const task of dead) await jobs().redrive(id, task.id);
      return dead.length > 0;
    }
    case 'remove':
      if (isLive) return false;
      await jobs().remove(id);
      return true;
    case 'signal': {
      const body = JSON.stringify(change.value);
      // Its id is that of the action: sent again after a crash, it is the same signal.
      return isLive && (await jobs().signal(id, change.signal, body, bulkId)).changed;
    }
    case 'priority':
      return isLive && (await jobs().setPriority(id, change.priority)).changed;
    case 'reschedule':
      return isLive && (await jobs().reschedule(id, change.runAt)).changed;
  }
}
