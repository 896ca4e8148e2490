import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareMatch, onOneOrAll } from '../matching-jobs.ts';
import { declareServer } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: [
    'millrace remove 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77',
    'millrace remove --label tenant=acme',
    'millrace remove --state succeeded --until 30d',
  ],
  declare(command) {
    command.argument('[job]', 'a job that has ended; cancel it first if it has not');
    declareMatch(command);
    declareServer(command);
  },
  run(command, reply, signal) {
    const [given] = command.args;
    const about = { command, action: 'remove', id: given, reply, signal } as const;
    return onOneOrAll(about, async (client, id) => {
      await client.remove(id, { signal });
      reply.say(plain(`Job ${id} is removed.`));
      reply.answer({ id, removed: true });
      return exit.done;
    });
  },
};
