import type { JobId } from '../../core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { jobLines } from '../job-words.ts';
import { declareServer, withClient } from '../server-call.ts';

export const command: CommandModule = {
  examples: [
    'millrace job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace job "$(millrace submit job.yaml)" --json',
  ],
  declare(command) {
    command.argument('<id>', 'the job');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    return withClient(command, 'read', signal, async (client) => {
      const job = await client.job(id, { signal });
      for (const line of jobLines(job)) reply.say(line);
      reply.answer(job);
      return exit.done;
    });
  },
};
