/** Commands that take one job, or all jobs that fit a filter. */
import type { Command } from 'commander';
import type { BulkOptions, HttpClient, JobsMatch } from '../client/index.ts';
import { defined, parseDuration } from '../kit/index.ts';
import type { BulkAction, BulkOutcome } from '../scheduler/contract/index.ts';
import { JOB_STATES, type JobId, type JobState } from '../scheduler/core/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { collected, labelOption } from './job-options.ts';
import { withClient, wrongUse } from './server-call.ts';
import { withWords } from './settings.ts';
import { plain } from './table.ts';

export interface MatchFlags {
  readonly state?: string;
  readonly name?: string;
  readonly label?: readonly string[];
  readonly waitingFor?: string;
  readonly schedule?: string;
  readonly startedBy?: string;
  readonly since?: string;
  readonly until?: string;
}

export function declareMatch(command: Command): void {
  command
    .addOption(withWords('--state <state>', 'all jobs in this state', JOB_STATES))
    .option('--name <name>', 'all jobs with this name')
    .option('--label <key=value>', 'all jobs with this label; repeat it for several', collected)
    .option('--waiting-for <signal>', "all jobs that wait for this signal; '*' for any signal");
  declareOrigins(command, 'all jobs');
  declareTimes(command, 'all jobs');
}

export function declareOrigins(command: Command, which: string): void {
  command
    .option('--schedule <id>', `${which} of this schedule`)
    .option(
      '--started-by <what>',
      `${which} that it has started: event/NAME, event/NAME/ID, job/ID or job/ID/TASK`,
    );
}

export function declareTimes(command: Command, which: string): void {
  command
    .option('--since <time>', `${which} created since then: 2h ago, or 2026-11-15T02:00:00Z`)
    .option('--until <time>', `${which} created before then`);
}

export function isMatch(flags: MatchFlags): boolean {
  const { state, name, label, waitingFor, schedule, startedBy, since, until } = flags;
  const all = [state, name, label, waitingFor, schedule, startedBy, since, until];
  return all.some((each) => each !== undefined);
}

interface OneOrAll {
  readonly command: Command;
  readonly action: BulkAction;
  /** The job, if one is named. */
  readonly id: string | undefined;
  readonly reply: Reply;
  readonly signal: AbortSignal;
  /** What there is to say of the action on all. */
  readonly more?: BulkOptions;
}

/** Acts on the one job that is named, or on all that fit the filter. */
export function onOneOrAll(
  { command, action, id, reply, signal, more = {} }: OneOrAll,
  onOne: (client: HttpClient, id: JobId) => Promise<ExitCode>,
): Promise<ExitCode> {
  const match = matchOption(action, id, command.opts<MatchFlags>());
  return withClient(command, 'submit', signal, (client) =>
    match === null
      ? onOne(client, id as JobId)
      : actOnAll(client, action, match, { reply, signal, more }),
  );
}

/** Null if one job is named. */
function matchOption(
  action: BulkAction,
  id: string | undefined,
  flags: MatchFlags,
): JobsMatch | null {
  if ((id === undefined) !== isMatch(flags)) {
    throw wrongUse(
      isMatch(flags)
        ? `${action} takes one job, or a filter for many, not both.`
        : `${action} needs a job, or a filter for many.`,
      `Write \`millrace ${action} ID\`, or \`millrace ${action} --state STATE --name NAME --label KEY=VALUE --since TIME\` with at least one of them.`,
    );
  }
  return isMatch(flags) ? jobsOption(flags) : null;
}

/** Times are read, but not yet those that count back from now: see `datedMatch`. */
export function jobsOption(flags: MatchFlags): JobsMatch {
  const { state, name, label, waitingFor, schedule, startedBy, since, until } = flags;
  return {
    ...(state === undefined ? {} : { state: stateOption(state) }),
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { labels: labelOption(label) }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...defined({ schedule, startedBy }),
    ...(since === undefined ? {} : { since: timeOption('--since', since) }),
    ...(until === undefined ? {} : { until: timeOption('--until', until) }),
  };
}

function timeOption(flag: string, text: string): Date | string {
  if (agoMs(text) !== null) return text;
  const time = new Date(text);
  if (Number.isFinite(time.getTime())) return time;
  throw wrongUse(`'${text}' is not a valid time.`, `Write ${flag} 2h, or 2026-11-15T02:00:00Z.`);
}

function agoMs(text: string): number | null {
  const ms = parseDuration(text);
  return ms !== null && ms >= 0 ? ms : null;
}

/** Durations count back from now by the server's clock: this one may be wrong. */
export async function datedMatch<M extends JobsMatch>(
  client: HttpClient,
  match: M,
  signal: AbortSignal,
): Promise<M> {
  const { since, until } = match;
  if (typeof since !== 'string' && typeof until !== 'string') return match;
  const { value: page } = await client.jobPages({ limit: 1, signal }).next();
  const nowMs = page === undefined ? Date.now() : Date.parse(page.asOf.at);
  const dated = (time: Date | string | undefined): Date | undefined =>
    typeof time === 'string' ? new Date(nowMs - (agoMs(time) ?? 0)) : time;
  return { ...match, ...defined({ since: dated(since), until: dated(until) }) };
}

function stateOption(text: string): JobState {
  const state = JOB_STATES.find((each) => each === text);
  if (state !== undefined) return state;
  throw wrongUse(`'${text}' is not a valid job state.`, `Use ${JOB_STATES.join(', ')}.`);
}

const DONE: Readonly<Record<BulkAction, string>> = {
  cancel: 'cancelled',
  rerun: 'run again',
  redrive: 'redriven',
  remove: 'removed',
  signal: 'signalled',
  priority: 'changed',
  reschedule: 'rescheduled',
};
const SAME: Readonly<Record<BulkAction, string>> = {
  cancel: 'had ended',
  rerun: 'had nothing to run again',
  redrive: 'had no dead task',
  remove: 'had not ended, or were called by a job that has not',
  signal: 'had ended',
  priority: 'had ended, or had that priority',
  reschedule: 'did not wait for a time',
};

/** Waits for the end of the job that does it. It goes on without this program. */
async function actOnAll(
  client: HttpClient,
  action: BulkAction,
  match: JobsMatch,
  { reply, signal, more }: Required<Pick<OneOrAll, 'reply' | 'signal' | 'more'>>,
): Promise<ExitCode> {
  const dated = await datedMatch(client, match, signal);
  const { id } = await client.submitBulk(action, dated, { ...more, signal });
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
