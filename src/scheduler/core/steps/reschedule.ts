/** A job that waits for its time is given another one, or starts now. */
import { writtenOptions } from '../document/job-options.ts';
import { momentText } from '../document/moment.ts';
import { MillraceError } from '../errors.ts';
import type { Reschedule } from '../event.ts';
import { instant } from '../ids.ts';
import type { Instant } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { StepContext } from '../step-context.ts';
import type { JobState } from '../task/chart.ts';
import { delay, makeReady } from './lifecycle.ts';
import { dropJob } from './settle.ts';
import { armTotals } from './submit.ts';

export function reschedule(context: StepContext, event: Reschedule): void {
  const { state, now } = context;
  const job = state.jobsById.get(event.jobId);
  if (job === undefined) {
    const what = `There is no job ${event.jobId}.`;
    return context.refuse(event.ask, new MillraceError({ code: 'not_found', what }));
  }
  const at = instant(Math.max(event.runAt ?? now, now));
  const why = whyNot(job, at, now);
  if (why === null) change(context, job, at);
  context.replyJob(event.ask, job, why === null, why === null ? {} : { why });
  // Loaded in vain.
  if (job.open === 0) dropJob(state, job);
}

/** Nothing of an ended job changes any more. */
export function whyEnded(state: JobState): string {
  return `It ${state === 'cancelled' ? 'was' : 'has'} ${state}.`;
}

/** Null if it can be changed. */
function whyNot(job: Job, at: Instant, now: Instant): string | null {
  if (job.open === 0) return whyEnded(job.state);
  if (job.stopping !== null) return 'It is being cancelled.';
  if (job.state !== 'queued') return 'It has begun.';
  if (job.runAt === null || job.runAt <= now || job.isFull) return 'It does not wait for a time.';
  return job.runAt === at ? 'It starts at that time already.' : null;
}

function change(context: StepContext, job: Job, at: Instant): void {
  const { tasks } = context.state;
  const before = job.runAt === null ? null : momentText(job.runAt);
  job.written = writtenOptions({ ...job.options, runAt: at });
  context.writeJob(job);
  context.logJob('job.rescheduled', job, { runAt: momentText(at), before });
  // None has begun, so the time of the job is all that they wait for. The timers of the old time no longer fit.
  for (const slot of job.slots) {
    if (tasks.state(slot) !== 'delayed') continue;
    tasks.move(slot, 'blocked');
    if (at > context.now) delay(context, slot, at);
    else makeReady(context, slot);
    // What still waits, for its key or for its job to be admitted, has moved without a row so far.
    if (tasks.state(slot) === 'blocked') context.writeTask(slot);
  }
  armTotals(context, job);
}
