/** A list of jobs in one step: what one job costs beside its rows is spent once for all of them. */
import type { JobReply } from '../effects.ts';
import { MillraceError } from '../errors.ts';
import type { SubmitAll } from '../event.ts';
import type { StepContext } from '../step-context.ts';
import { settle } from './settle.ts';
import { findOrCreate } from './submit.ts';

/** Each is settled before the next one comes, as if it had come alone. */
export function submitAll(context: StepContext, { ask, jobs }: SubmitAll): void {
  const replies: (JobReply | MillraceError)[] = [];
  for (const submission of jobs) {
    const found = findOrCreate(context, submission);
    settle(context);
    if (found instanceof MillraceError) replies.push(found);
    else {
      const { id: jobId, state, run } = found.job;
      replies.push({ jobId, state, run, changed: found.isNew });
    }
    context.packNewJobs();
  }
  context.effects.reply(ask, { type: 'jobs', replies });
}
