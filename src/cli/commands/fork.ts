import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { readInput } from '../files/work-file.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';

interface ForkFlags {
  readonly from?: string;
  readonly input?: string;
  readonly wait?: true;
  readonly json?: true;
}

export const command: CommandModule = {
  examples: [
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train',
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train --wait',
    `millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train --input '{"epochs": 3}'`,
  ],
  declare(command) {
    command
      .argument('<id>', 'a finished job; it stays as it is')
      .option('--from <task>', 'the task from which on everything runs again')
      .option('--input <json>', 'the input of that task, in place of its own; @file reads it')
      .option('--wait', 'wait for the new job to end; exit code 1 unless it succeeds');
    declareServer(command);
  },
  async run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const { from, input: text, wait = false, json = false } = command.opts<ForkFlags>();
    if (from === undefined) {
      throw wrongUse(
        'fork needs the task to start from.',
        `Write \`millrace fork ${id} --from TASK\`; \`millrace job ${id}\` lists the tasks.`,
      );
    }
    const edited = text === undefined ? {} : { input: await readInput(text, signal) };
    return withClient(command, 'submit', signal, async (client) => {
      const job = await client.forkJob(id, from, { signal, ...edited });
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
