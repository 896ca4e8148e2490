/** Commands that take one job, or all jobs that fit a filter. */
import type { Command } from 'commander';
import type { HttpClient, JobsMatch } from '../client/index.ts';
import type { BulkAction, BulkOutcome } from '../scheduler/contract/index.ts';
import { JOB_STATES, type JobState } from '../scheduler/core/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { collected, labelOption } from './job-options.ts';
import { wrongUse } from './server-call.ts';
import { withWords } from './settings.ts';
import { plain } from './table.ts';

export interface MatchFlags {
  readonly state?: string;
  readonly name?: string;
  readonly label?: readonly string[];
}

export function declareMatch(command: Command): void {
  command
    .addOption(withWords('--state <state>', 'all jobs in this state', JOB_STATES))
    .option('--name <name>', 'all jobs with this name')
    .option('--label <key=value>', 'all jobs with this label; repeat it for several', collected);
}

/** Null if one job is named. */
export function matchOption(
  action: BulkAction,
  id: string | undefined,
  flags: MatchFlags,
): JobsMatch | null {
  const { state, name, label } = flags;
  const isMatch = state !== undefined || name !== undefined || label !== undefined;
  if ((id === undefined) !== isMatch) {
    throw wrongUse(
      isMatch
        ? `${action} takes one job, or a filter for many, not both.`
        : `${action} needs a job, or a filter for many.`,
      `Write \`millrace ${action} ID\`, or \`millrace ${action} --state STATE --name NAME --label KEY=VALUE\` with at least one of them.`,
    );
  }
  if (!isMatch) return null;
  return {
    ...(state === undefined ? {} : { state: stateOption(state) }),
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { labels: labelOption(label) }),
  };
}

export function stateOption(text: string): JobState {
  const state = JOB_STATES.find((each) => each === text);
  if (state !== undefined) return state;
  throw wrongUse(`'${text}' is not a valid job state.`, `Use ${JOB_STATES.join(', ')}.`);
}

const DONE: Readonly<Record<BulkAction, string>> = {
  cancel: 'cancelled',
  rerun: 'run again',
  redrive: 'redriven',
};
const SAME: Readonly<Record<BulkAction, string>> = {
  cancel: 'had ended',
  rerun: 'had nothing to run again',
  redrive: 'had no dead task',
};

/** Waits for the end of the job that does it. It goes on without this program. */
export async function actOnAll(
  client: HttpClient,
  action: BulkAction,
  match: JobsMatch,
  { reply, signal }: { readonly reply: Reply; readonly signal: AbortSignal },
): Promise<ExitCode> {
  const { id } = await client.submitBulk(action, match, { signal });
  try {
    const job = await client.ended(id, { signal });
    reply.answer(job);
    if (job.state !== 'succeeded') {
      reply.say(plain(`Job ${id}, which does it, ${job.state}: ${job.error?.message ?? ''}`));
      return exit.workFailed;
    }
    const { found, changed, unchanged, failed, errors } = job.result as unknown as BulkOutcome;
    const parts = [
      ...(changed === 0 ? [] : [`${changed} ${DONE[action]}`]),
      ...(unchanged === 0 ? [] : [`${unchanged} ${SAME[action]}`]),
      ...(failed === 0 ? [] : [`${failed} failed`]),
    ];
    const jobs = found === 1 ? '1 job fits' : `${found} jobs fit`;
    reply.say(found === 0 ? 'No job fits.' : `${jobs}: ${parts.join(', ')}.`);
    for (const error of errors) reply.say(plain(`  ${error.job}: ${error.message}`));
    return failed === 0 ? exit.done : exit.workFailed;
  } catch (error) {
    if (signal.aborted) reply.say(plain(`Job ${id}, which does it, goes on.`));
    throw error;
  }
}
