import { isFinished, type JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jobLines } from '../job-words.ts';
import { taskLines } from '../task-words.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient } from '../server-call.ts';
import { follow } from '../view/follow.ts';

export const command: CommandModule = {
  examples: [
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace job "$(millrace submit job.yaml)" --follow',
    'millrace job "$(millrace submit job.yaml)" --json',
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --task fetch',
  ],
  declare(command) {
    command
      .argument('<id>', 'the job')
      .option('--task <id>', 'only this task, with its input, placement and lease')
      .option('--follow', 'follow it to completion; exit code 1 unless it succeeds');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const {
      task,
      follow: isFollowed = false,
      json = false,
    } = command.opts<{
      task?: string;
      follow?: true;
      json?: true;
    }>();
    return withClient(command, 'read', signal, async (client) => {
      if (task !== undefined) {
        const detail = await client.task(id, task, { signal });
        for (const line of taskLines(detail)) reply.say(line);
        reply.answer(detail);
        return exit.done;
      }
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
