/** What is answered about a job. */
import { MillraceError, whyEnded } from '../core/index.ts';
import type { JobRow, ReplyBody } from '../core/index.ts';
import type { JobReply } from '../contract/index.ts';

export function unchangedRow({ id: jobId, state, run }: JobRow): JobReply {
  return { jobId, state, run, changed: false };
}

export function asJob(reply: ReplyBody): JobReply {
  if (reply.type === 'job') return reply;
  throw new MillraceError({ code: 'invariant', what: `a job was asked, ${reply.type} answered` });
}

export function asJobs(reply: ReplyBody): readonly (JobReply | MillraceError)[] {
  if (reply.type === 'jobs') return reply.replies;
  throw new MillraceError({ code: 'invariant', what: `jobs were asked, ${reply.type} answered` });
}

/** One that had ended before the leader was asked: its memory would have said more. */
export function asRescheduled(reply: JobReply): JobReply {
  return reply.changed || reply.why !== undefined
    ? reply
    : { ...reply, why: whyEnded(reply.state) };
}
