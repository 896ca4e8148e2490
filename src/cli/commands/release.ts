import type { NodeId } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';

export const command: CommandModule = {
  examples: ['millrace release w-1'],
  declare(command) {
    command.argument('<node>', 'a drained or quarantined node');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as NodeId;
    return withClient(command, 'admin', signal, async (client) => {
      const node = await client.release(id, { signal });
      reply.say(plain(`Node ${id} accepts work again.`));
      reply.answer(node);
      return exit.done;
    });
  },
};
