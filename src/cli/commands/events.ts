import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { eventLine } from '../job-words.ts';
import { declareServer, wholeOption, withClient } from '../server-call.ts';

export const command: CommandModule = {
  examples: [
    'millrace events',
    'millrace events --follow',
    'millrace events --job 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --json',
  ],
  declare(command) {
    command
      .option('--job <id>', 'only events of this job')
      .option('--follow', 'keep following; without --after and --job, starts with new events')
      .option('--after <seq>', 'only events after this sequence number');
    declareServer(command);
  },
  run(command, reply, signal) {
    const options = command.opts<{ job?: string; follow?: true; after?: string }>();
    const after = wholeOption('--after', options.after);
    const job = options.job as JobId | undefined;
    const isFollowing = options.follow ?? false;
    return withClient(command, 'read', signal, async (client) => {
      const isTail = isFollowing && after === undefined && job === undefined;
      // The events of an unknown job are none, and following them would wait forever.
      if (job !== undefined) await client.job(job, { signal });
      const events = client.events({
        signal,
        ...(isTail ? {} : { after: after ?? 0 }),
        ...(job === undefined ? {} : { job }),
        ...(isFollowing ? {} : { until: (await client.head({ signal })).seq }),
      });
      const isJson = command.opts<{ json?: true }>().json ?? false;
      for await (const event of events) {
        if (isJson) reply.answer(event);
        else reply.say(eventLine(event));
      }
      return exit.done;
    });
  },
};
