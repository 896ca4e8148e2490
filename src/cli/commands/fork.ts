import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { readInput } from '../files/work-file.ts';
import {
  declareFollow,
  type FollowFlags,
  followFrom,
  followToEnd,
  isFollowed,
} from '../following.ts';
import { declareServer, withClient, wrongUse } from '../server-call.ts';

interface ForkFlags extends FollowFlags {
  readonly from?: string;
  readonly input?: string;
}

export const command: CommandModule = {
  examples: [
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train',
    'millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train --follow',
    `millrace fork 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --from train --input '{"epochs": 3}'`,
  ],
  declare(command) {
    command
      .argument('<id>', 'a finished job; it stays as it is')
      .option('--from <task>', 'the task from which on everything runs again')
      .option('--input <json>', 'the input of that task, in place of its own; @file reads it');
    declareFollow(command);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const id = (command.args[0] ?? '') as JobId;
    const flags = command.opts<ForkFlags>();
    const { from, input: text, json: isJson = false } = flags;
    if (from === undefined) {
      throw wrongUse(
        'fork needs the task to start from.',
        `Write \`millrace fork ${id} --from TASK\`; \`millrace job ${id}\` lists the tasks.`,
      );
    }
    const edited = text === undefined ? {} : { input: await readInput(text, signal) };
    return withClient(command, 'submit', signal, async (client) => {
      const after = isFollowed(flags) ? await followFrom(client, signal) : null;
      const job = await client.forkJob(id, from, { signal, ...edited });
      reply.say(job.id);
      if (after !== null) return followToEnd(client, { id: job.id, after, reply, isJson, signal });
      reply.answer(job);
      return exit.done;
    });
  },
};
