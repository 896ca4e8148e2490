import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { readInput } from '../files/work-file.ts';
import { tellOutcome } from '../outcome.ts';
import { declareServer, withClient } from '../server-call.ts';
import { follow } from '../view/follow.ts';
import { declareJobFlags, jobFields, type JobFlags } from '../job-options.ts';

interface StartFlags extends JobFlags {
  readonly input?: string;
  readonly wait?: true;
  readonly follow?: true;
  readonly json?: true;
}

export const command: CommandModule = {
  examples: [
    'millrace start order --input \'{"id": "A-7", "cents": 1999}\'',
    'millrace start order --input @order.json --follow',
    'millrace start nightly --idempotency-key "nightly $(date +%F)" --json',
  ],
  declare(command) {
    command
      .argument('<flow>', 'a flow that workers have published; `millrace flows` lists them')
      .option('--input <json>', 'the input of the flow; @file reads it from a file')
      .option('--follow', 'follow the job to completion; exit code 1 unless it succeeds')
      .option('--wait', 'the same');
    declareJobFlags(command);
    declareServer(command);
  },
  async run(command, reply, signal) {
    const [flow = ''] = command.args;
    const flags = command.opts<StartFlags>();
    const isFollowed = flags.follow === true || flags.wait === true;
    const input = await readInput(flags.input, signal);
    const body = { ...(flags.input === undefined ? {} : { input }), ...jobFields(flags) };
    return withClient(command, 'submit', signal, async (client) => {
      // Asked for before the job is there, so that nothing of it is missed.
      const after = isFollowed ? (await client.head({ signal })).seq : 0;
      const job = await client.startFlow(flow, body, { signal });
      reply.say(job.id);
      if (!isFollowed) {
        reply.answer(job);
        return exit.done;
      }
      const say = (line: string): void => reply.say(line);
      try {
        const ended = await follow(client, job.id, { signal, reply, say, after });
        return tellOutcome(ended, reply, flags.json === true, say);
      } catch (error) {
        if (signal.aborted)
          reply.say(`Job ${job.id} keeps running; cancel it with \`millrace cancel ${job.id}\`.`);
        throw error;
      }
    });
  },
};
