import type { Command } from 'commander';
import type { NodeFilter, NodeShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { table } from '../table.ts';
import { shortened, when } from '../wording.ts';

export const command: CommandModule = {
  examples: ['millrace nodes', 'millrace nodes --executor train --capability gpu:nvidia'],
  declare(command: Command) {
    command
      .option('--executor <name>', 'only those that run tasks of this executor')
      .option('--operator <name>', 'only those that have this custom operator or function')
      .option('--capability <key:value>', 'only those with this capability; a number is a minimum');
    declareServer(command);
  },
  run(command, reply, signal) {
    const { executor, operator, capability } = command.opts<NodeFilter>();
    const filter = {
      ...(executor === undefined ? {} : { executor }),
      ...(operator === undefined ? {} : { operator }),
      ...(capability === undefined ? {} : { capability }),
    };
    return withClient(command, 'read', signal, async (client) => {
      const answer = await client.listNodes({ ...filter, signal });
      const { nodes, asOf } = answer;
      if (nodes.length === 0 && Object.keys(filter).length > 0)
        reply.say('No node has all of that; tasks that need it wait.');
      else if (nodes.length === 0)
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
