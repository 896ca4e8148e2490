import { isFinished, type JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jobLines } from '../job-words.ts';
import { taskLines } from '../task-words.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';
import { follow } from '../view/follow.ts';

export const command: CommandModule = {
  examples: [
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace job "$(millrace submit job.yaml)" --follow',
    'millrace job "$(millrace submit job.yaml)" --json',
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77/fetch',
  ],
  declare(command) {
    command
      .argument('<id>', 'the job, or JOB/TASK for one task: its input, steps, attempts and lease')
      .option('--task <id>', 'the same as JOB/TASK')
      .option('--follow', 'follow it to completion; exit code 1 unless it succeeds');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given = ''] = command.args;
    const [id, inPath, surplus] = given.split('/') as [JobId, string?, string?];
    if (surplus !== undefined || inPath === '') {
      throw wrongUse(`'${given}' is not a valid job or task.`, 'Write JOB, or JOB/TASK.');
    }
    const {
      task = inPath,
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
