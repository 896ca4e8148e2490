import type { CommandModule } from '../command.ts';
import { actAndFollow, declareFollow, type FollowFlags, refuseFollow } from '../following.ts';
import { declareMatch, isMatch, type MatchFlags, onOneOrAll } from '../matching-jobs.ts';
import { declareServer } from '../server-call.ts';
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
    if (isMatch(flags)) refuseFollow(flags);
    return onOneOrAll({ command, action: 'rerun', id: given, reply, signal }, (client, id) =>
      actAndFollow(client, flags, { id, reply, signal }, async () => {
        const job = await client.rerun(id, { signal });
        reply.say(plain(`Job ${id} is ${job.state}, run ${job.run}.`));
        return job;
      }),
    );
  },
};
