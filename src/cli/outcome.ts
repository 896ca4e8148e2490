/** How a finished job is reported: its result on stdout, a sentence beside it, and the exit code. */
import type { DatedJob } from '../client/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { endingOf, failureLines } from './job-words.ts';

export function tellOutcome(
  job: DatedJob,
  reply: Reply,
  isJson: boolean,
  say: (line: string) => void,
): ExitCode {
  const isGood = job.state === 'succeeded';
  if (isGood && !isJson && job.result !== null) reply.say(JSON.stringify(job.result, null, 2));
  for (const line of failureLines(job)) say(line);
  say(endingOf(job));
  reply.answer(job);
  return isGood ? exit.done : exit.workFailed;
}
