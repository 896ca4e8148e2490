/** A live job becomes more or less urgent. What runs goes on; what is ready changes its lane. */
import { writtenOptions } from '../document/job-options.ts';
import { MillraceError } from '../errors.ts';
import type { SetPriority } from '../event.ts';
import type { Job } from '../job/job.ts';
import { isTerminal } from '../task/chart.ts';
import type { Priority } from '../task/chart.ts';
import type { StepContext } from '../step-context.ts';
import { dropJob } from './settle.ts';

export function setPriority(context: StepContext, event: SetPriority): void {
  const { state } = context;
  const job = state.jobsById.get(event.jobId);
  if (job === undefined) {
    const what = `There is no job ${event.jobId}.`;
    return context.refuse(event.ask, new MillraceError({ code: 'not_found', what }));
  }
  const isLive = job.open > 0 && job.stopping === null;
  const changed = isLive && !has(context, job, event.priority);
  if (changed) change(context, job, event.priority);
  context.replyJob(event.ask, job, changed);
  // Loaded in vain.
  if (job.open === 0) dropJob(state, job);
}

/** Nothing of it has another one. */
function has({ state: { tasks } }: StepContext, job: Job, priority: Priority): boolean {
  if (job.priority !== priority) return false;
  return job.slots.every(
    (slot) => isTerminal(tasks.state(slot)) || tasks.priority(slot) === priority,
  );
}

function change(context: StepContext, job: Job, priority: Priority): void {
  const { tasks, queue, admissions } = context.state;
  const before = job.priority;
  const ready = job.slots.filter((slot) => tasks.state(slot) === 'ready');
  // Out of their lanes before the priority says another one. A limit may send one that it had parked into its lane
  // meanwhile: that one is taken out as well.
  for (const slot of ready) queue.remove(slot);
  job.written = writtenOptions({ ...job.options, priority });
  for (const slot of ready) queue.add(slot);
  admissions.reorder(job);
  context.writeJob(job);
  context.logJob('job.prioritized', job, { priority, before });
}
