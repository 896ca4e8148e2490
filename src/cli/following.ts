/** Commands that start something: they answer at once, or follow the job to its end. */
import type { Command } from 'commander';
import type { DatedJob, HttpClient } from '../client/index.ts';
import type { JobId } from '../scheduler/core/index.ts';
import type { Reply } from './command.ts';
import { exit, type ExitCode } from './exit.ts';
import { tellOutcome } from './outcome.ts';
import { wrongUse } from './server-call.ts';
import { plain } from './table.ts';
import { follow } from './view/follow.ts';

export interface FollowFlags {
  readonly follow?: true;
  readonly wait?: true;
  readonly json?: true;
}

export function declareFollow(command: Command): void {
  command
    .option('--follow', 'follow the job to completion; exit code 1 unless it succeeds')
    .option('--wait', 'the same');
}

export function isFollowed({ follow: given, wait }: FollowFlags): boolean {
  return given === true || wait === true;
}

/** Many jobs have no one end. */
export function refuseFollow(flags: FollowFlags): void {
  if (isFollowed(flags)) throw wrongUse('--follow is for one job.', 'Leave it out.');
}

/** Where to follow from, asked for before the job is there, so that nothing of it is missed. */
export async function followFrom(client: HttpClient, signal: AbortSignal): Promise<number> {
  return (await client.head({ signal })).seq;
}

/** Does something to a job, and follows that job to its end if that was asked for. */
export async function actAndFollow(
  client: HttpClient,
  flags: FollowFlags,
  { id, reply, signal }: Omit<Followed, 'after' | 'isJson'>,
  act: () => Promise<DatedJob>,
): Promise<ExitCode> {
  const after = isFollowed(flags) ? await followFrom(client, signal) : null;
  const job = await act();
  const isJson = flags.json === true;
  if (after !== null) return followToEnd(client, { id, after, reply, isJson, signal });
  reply.answer(job);
  return exit.done;
}

interface Followed {
  readonly id: JobId;
  readonly after: number;
  readonly reply: Reply;
  readonly isJson: boolean;
  readonly signal: AbortSignal;
}

/** An interruption leaves the job alone, and says so. */
export async function followToEnd(client: HttpClient, followed: Followed): Promise<ExitCode> {
  const { id, after, reply, isJson, signal } = followed;
  const say = (line: string): void => reply.say(line);
  try {
    const ended = await follow(client, id, { signal, reply, say, after });
    return tellOutcome(ended, reply, isJson, say);
  } catch (error) {
    if (signal.aborted)
      reply.say(plain(`Job ${id} keeps running; cancel it with \`millrace cancel ${id}\`.`));
    throw error;
  }
}
