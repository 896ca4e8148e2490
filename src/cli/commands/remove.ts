import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: ['millrace remove 0199f2c4-7a10-7c3e-8a51-3f6d1f0c2a77'],
  declare(command) {
    command.argument('<job>', 'a job that has ended; cancel it first if it has not');
    declareServer(command);
  },
  run(command, reply, signal) {
    const [id = ''] = command.args;
    return withClient(command, 'submit', signal, async (client) => {
      await client.remove(id, { signal });
      reply.say(plain(`Job ${id} is removed.`));
      reply.answer({ id, removed: true });
      return exit.done;
    });
  },
};
