import { isFinished, type JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jobLines } from '../job-words.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient } from '../server-call.ts';
import { follow } from '../view/follow.ts';

export const command: CommandModule = {
  examples: [
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace job "$(millrace submit job.yaml)" --follow',
    'millrace job "$(millrace submit job.yaml)" --json',
  ],
  declare(command) {
    command
      .argument('<id>', 'the job')
      .option('--follow', 'follow it to completion; exit code 1 unless it succeeds');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const { follow: isFollowed = false, json = false } = command.opts<{
      follow?: true;
      json?: true;
    }>();
    return withClient(command, 'read', signal, async (client) => {
      const job = await client.job(id, { signal });
      const say = (line: string): void => reply.say(line);
      if (isFollowed && !isFinished(job.state)) {
        const ended = await follow(client, id, { signal, reply, say, after: job.asOf.seq });
        return tellOutcome(ended, reply, json, say);
      }
      for (const line of jobLines(job)) reply.say(line);
      reply.answer(job);
      if (!isFollowed) return exit.done;
      return job.state === 'succeeded' ? exit.done : exit.workFailed;
    });
  },
};
