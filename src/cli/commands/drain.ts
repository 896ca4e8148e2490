import { setTimeout as pause } from 'node:timers/promises';
import type { HttpClient } from '../../client/index.ts';
import type { NodeId } from '../../scheduler/core/index.ts';
import type { CommandModule, Reply } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain } from '../table.ts';
import { counted } from '../wording.ts';

const LOOK_EVERY_MS = 250;

export const command: CommandModule = {
  examples: ['millrace drain w-1', 'millrace drain w-1 --wait'],
  declare(command) {
    command
      .argument('<node>', 'the node to drain')
      .option('--wait', 'wait until it holds no tasks');
    declareServer(command);
  },
  run(command, reply, signal) {
    const id = (command.args[0] ?? '') as NodeId;
    const { wait = false } = command.opts<{ wait?: true }>();
    return withClient(command, 'admin', signal, async (client) => {
      await client.drain(id, { signal });
      reply.say(plain(`Node ${id} is draining; \`millrace release ${id}\` ends the drain.`));
      const running = wait ? await emptied(client, id, reply, signal) : null;
      reply.answer({ id, draining: true, ...(running === null ? {} : { running }) });
      return exit.done;
    });
  },
};

/** A node that has left holds nothing either. */
async function emptied(
  client: HttpClient,
  id: NodeId,
  reply: Reply,
  signal: AbortSignal,
): Promise<number> {
  let before = -1;
  for (;;) {
    const { nodes } = await client.listNodes({ signal });
    const running = nodes.find((node) => node.id === id)?.running ?? 0;
    if (running === 0) {
      reply.say(plain(`Node ${id} is drained.`));
      return running;
    }
    if (running !== before) reply.say(`It still holds ${counted(running, 'task')}.`);
    before = running;
    await pause(LOOK_EVERY_MS, undefined, { signal });
  }
}
