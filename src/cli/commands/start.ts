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
import { declareJobFlags, jobFields, type JobFlags, jobIdField } from '../job-options.ts';
import { declareServer, withClient } from '../server-call.ts';

interface StartFlags extends JobFlags, FollowFlags {
  readonly input?: string;
}

export const command: CommandModule = {
  examples: [
    'millrace start order --input \'{"id": "A-7", "cents": 1999}\'',
    'millrace start order --input @order.json --follow',
    'millrace start nightly --idempotency-key "nightly $(date +%F)" --json',
    `millrace start notify --input '[{"user": "ann"}]' --batch 'notices of ann=100,5s'`,
  ],
  declare(command) {
    command
      .argument('<flow>', 'a flow that workers have published; `millrace flows` lists them')
      .option('--input <json>', 'the input of the flow; @file reads it from a file');
    declareFollow(command);
    declareJobFlags(command);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [flow = ''] = command.args;
    const flags = command.opts<StartFlags>();
    const input = await readInput(flags.input, signal);
    const body = { ...(flags.input === undefined ? {} : { input }), ...jobFields(flags) };
    return withClient(command, 'submit', signal, async (client) => {
      const after = isFollowed(flags) ? await followFrom(client, signal) : null;
      const job = await client.startFlow(flow, body, { signal, ...jobIdField(flags) });
      reply.say(job.id);
      if (after !== null) {
        const isJson = flags.json === true;
        return followToEnd(client, { id: job.id, after, reply, isJson, signal });
      }
      reply.answer(job);
      return exit.done;
    });
  },
};
