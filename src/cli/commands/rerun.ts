import type { JobId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import {
  declareFollow,
  type FollowFlags,
  followFrom,
  followToEnd,
  isFollowed,
  refuseFollow,
} from '../following.ts';
import { actOnAll, declareMatch, matchOption, type MatchFlags } from '../matching-jobs.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace rerun 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace rerun 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77 --follow',
    'millrace rerun --state failed --name import',
  ],
  declare(command) {
    command.argument('[id]', 'a finished job; its tasks that did not succeed run again');
    declareFollow(command);
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given] = command.args;
    const flags = command.opts<FollowFlags & MatchFlags>();
    const match = matchOption('rerun', given, flags);
    if (match !== null) {
      refuseFollow(flags);
      return withClient(command, 'submit', signal, (client) =>
        actOnAll(client, 'rerun', match, { reply, signal }),
      );
    }
    const id = given as JobId;
    return withClient(command, 'submit', signal, async (client) => {
      const after = isFollowed(flags) ? await followFrom(client, signal) : null;
      const job = await client.rerun(id, { signal });
      reply.say(plain(`Job ${id} is ${job.state}, run ${job.run}.`));
      if (after !== null) {
        const isJson = flags.json === true;
        return followToEnd(client, { id, after, reply, isJson, signal });
      }
      reply.answer(job);
      return exit.done;
    });
  },
};
