import type { NodeShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { table } from '../table.ts';
import { shortened, when } from '../wording.ts';

export const command: CommandModule = {
  examples: ['millrace nodes', 'millrace nodes --json'],
  declare: (command) => declareServer(command),
  run(command, reply, signal) {
    return withClient(command, 'read', signal, async (client) => {
      const answer = await client.listNodes({ signal });
      const { nodes, asOf } = answer;
      if (nodes.length === 0)
        reply.say('No nodes are registered; tasks wait until a worker connects.');
      else for (const line of nodeTable(nodes, asOf.at)) reply.say(line);
      reply.answer(answer);
      return exit.done;
    });
  },
};

function nodeTable(nodes: readonly NodeShape[], asOf: string): string[] {
  return table(
    ['NODE', 'STATUS', 'RUNNING', 'SLOTS', 'SEEN', 'VERSION', 'EXECUTORS'],
    nodes.map((node) => [
      node.id,
      statusOf(node, asOf),
      node.running,
      node.slots,
      when(node.seenAt, asOf),
      node.version,
      shortened(node.executors.join(' '), 60),
    ]),
  );
}

function statusOf(node: NodeShape, asOf: string): string {
  const { status, draining, quarantinedUntil, capabilities } = node;
  const { pressure } = capabilities;
  const until = when(quarantinedUntil, asOf);
  const marks = [
    ...(draining ? ['draining'] : []),
    ...(typeof pressure === 'string' ? [`short of ${pressure}`] : []),
    ...(until?.startsWith('in ') === true ? [`quarantined, ends ${until}`] : []),
  ];
  return marks.length === 0 ? status : `${status} (${marks.join('; ')})`;
}
