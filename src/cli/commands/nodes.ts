import type { Command } from 'commander';
import type { HttpClient } from '../../client/index.ts';
import type { LeaderAddress } from '../../scheduler/core/index.ts';
import type { NodeFilter, NodeShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain, table } from '../table.ts';
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
      const isFiltered = Object.keys(filter).length > 0;
      const [answer, leader] = await Promise.all([
        client.listNodes({ ...filter, signal }),
        isFiltered ? null : whoLeads(client, signal),
      ]);
      const { nodes, asOf } = answer;
      if (nodes.length === 0 && isFiltered)
        reply.say('No node has all of that; tasks that need it wait.');
      else if (nodes.length > 0)
        for (const line of nodeTable(nodes, leader?.nodeId ?? null, asOf.at)) reply.say(line);
      else reply.say('No nodes are registered; tasks wait until a worker connects.');
      // Outside of a cluster, or just after its start, a server that executes nothing is not registered as a node.
      if (leader !== null && !nodes.some(({ id }) => id === leader.nodeId)) {
        const where = leader.url === null ? '' : ` at ${leader.url}`;
        reply.say(plain(`The leader is ${leader.nodeId}${where}; it executes no tasks.`));
      }
      reply.answer(isFiltered ? answer : { ...answer, leader });
      return exit.done;
    });
  },
};

/** During an election nobody leads for a few seconds, and the list need not wait for that. */
const LEADER_MS = 2_000;

async function whoLeads(client: HttpClient, signal: AbortSignal): Promise<LeaderAddress | null> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LEADER_MS)]);
  try {
    const { nodeId, url, grpc, epoch } = await client.leader({ signal: limited });
    return { nodeId, url, grpc, epoch };
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

function nodeTable(nodes: readonly NodeShape[], leader: string | null, asOf: string): string[] {
  return table(
    ['NODE', 'STATUS', 'RUNNING', 'SLOTS', 'SEEN', 'VERSION', 'EXECUTORS'],
    nodes.map((node) => [
      node.id,
      statusOf(node, leader, asOf),
      node.running,
      node.slots,
      when(node.seenAt, asOf),
      node.version,
      shortened(node.executors.join(' '), 60),
    ]),
  );
}

function statusOf(node: NodeShape, leader: string | null, asOf: string): string {
  const { status, draining, quarantinedUntil, capabilities } = node;
  const { pressure } = capabilities;
  const until = when(quarantinedUntil, asOf);
  const marks = [
    ...(node.id === leader ? ['leader'] : []),
    ...(draining ? ['draining'] : []),
    ...(typeof pressure === 'string' ? [`short of ${pressure}`] : []),
    ...(until?.startsWith('in ') === true ? [`quarantined, ends ${until}`] : []),
  ];
  return marks.length === 0 ? status : `${status} (${marks.join('; ')})`;
}
