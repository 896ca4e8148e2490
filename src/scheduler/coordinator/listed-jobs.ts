/** Lists of jobs that are fed to the core as one event: which of them may, and what becomes of such a list when one of its
 * jobs turns out to be bad. */
import { MillraceError } from '../core/index.ts';
import type { Ask, ListedJob, ReplyBody, SubmitAll } from '../core/index.ts';
import type { JobReply } from '../contract/index.ts';
import type { Input } from './commit-batch.ts';
import type { PendingReplies } from './pending-replies.ts';
import { LARGE_BYTES, weightOf } from './weight.ts';

/** One step takes about this much: others are heard in between. As many jobs as small ones are. */
const JOBS_AT_ONCE = 500;
const BYTES_AT_ONCE = 2 * LARGE_BYTES;

/** The list in portions, in its order; `room`: a portion ends behind so many jobs, for no more will be taken. A job with much to
 * carry comes alone. */
export function portionsOf(
  jobs: readonly ListedJob[],
  room: number,
): readonly (readonly ListedJob[])[] {
  const portions: ListedJob[][] = [];
  let open: ListedJob[] = [];
  let openBytes = 0;
  for (let at = 0; at < jobs.length; at += 1) {
    const job = jobs[at] as ListedJob;
    const bytes = weightOf({ type: 'submit', ask: 0 as Ask, ...job });
    const isLarge = bytes > LARGE_BYTES;
    const isFull = open.length === JOBS_AT_ONCE || openBytes + bytes > BYTES_AT_ONCE;
    if (isLarge || at === room || isFull || open.length === 0) {
      open = [];
      openBytes = 0;
      portions.push(open);
    }
    open.push(job);
    openBytes += bytes;
    if (isLarge) open = [];
  }
  return portions;
}

/** Jobs that came as a list are fed one by one when an offender is looked for: it refuses no other. */
export function apart(inputs: readonly Input[], replies: PendingReplies): readonly Input[] {
  return inputs.flatMap((input) => {
    const list = input.kind === 'event' && input.event.type === 'submitAll' ? input.event : null;
    return list === null ? [input] : jobByJob(list, replies);
  });
}

function jobByJob({ ask, jobs }: SubmitAll, replies: PendingReplies): readonly Input[] {
  const list = replies.list(jobs.length, (outcomes) =>
    replies.answer({ ask, body: { type: 'jobs', replies: outcomes.map(asOutcome) } }),
  );
  return jobs.map((job): Input => {
    const own = replies.next();
    replies.gather(own, list);
    const event = { type: 'submit' as const, ask: own, ...job };
    return { kind: 'event', event, ask: own, images: [], bytes: weightOf(event) };
  });
}

function asOutcome(outcome: ReplyBody | MillraceError): JobReply | MillraceError {
  if (outcome instanceof MillraceError || outcome.type === 'job') return outcome;
  return new MillraceError({ code: 'invariant', what: `a job answered ${outcome.type}` });
}
