import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';

interface ForkFlags {
  readonly from?: string;
  readonly wait?: true;
  readonly json?: true;
}

export const command: CommandModule = {
  examples: [
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train',
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train --wait',
  ],
  declare(command) {
    command
      .argument('<id>', 'a finished job; it stays as it is')
      .option('--from <task>', 'the task from which on everything runs again')
      .option('--wait', 'wait for the new job to end; exit code 1 unless it succeeds');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const { from, wait = false, json = false } = command.opts<ForkFlags>();
    if (from === undefined) {
      throw wrongUse(
        'fork needs the task to start from.',
        `Write \`millrace fork ${id} --from TASK\`; \`millrace job ${id}\` lists the tasks.`,
      );
    }
    return withClient(command, 'submit', signal, async (client) => {
      const job = await client.forkJob(id, from, { signal });
      reply.say(job.id);
      if (wait) {
        const ended = await client.ended(job.id, { signal });
        return tellOutcome(ended, reply, json, (line) => reply.say(line));
      }
      reply.answer(job);
      return exit.done;
    });
  },
};
