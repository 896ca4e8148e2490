import type { FlowShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { table } from '../table.ts';
import { shortened } from '../wording.ts';

export const command: CommandModule = {
  examples: ['millrace flows', 'millrace flows --json'],
  declare(command) {
    declareServer(command);
  },
  run(command, reply, signal) {
    return withClient(command, 'read', signal, async (client) => {
      const flows = await client.listFlows({ signal });
      if (flows.length === 0)
        reply.say('No flows are published; start a worker with --module FILE that exports some.');
      else for (const line of flowTable(flows)) reply.say(line);
      reply.answer({ flows });
      return exit.done;
    });
  },
};

function flowTable(flows: readonly FlowShape[]): string[] {
  return table(
    ['FLOW', 'VERSION', 'NODES', 'INPUT'],
    flows.map(({ name, version, input, nodes }) => [
      name,
      version,
      nodes.length === 0 ? 'none' : shortened(nodes.join(' '), 40),
      shortened(inputWords(input), 80),
    ]),
  );
}

/** `id: string, cents: integer, note?: string` for the usual object; otherwise the type, if there is one. */
function inputWords(schema: FlowShape['input']): string {
  const { type, properties, required } = schema;
  if (type === 'null') return 'none';
  const isObject = typeof properties === 'object' && properties !== null;
  if (!isObject) return typeof type === 'string' ? type : 'any';
  const needed = Array.isArray(required) ? (required as readonly unknown[]) : [];
  return Object.entries(properties)
    .map(([name, each]) => `${name}${needed.includes(name) ? '' : '?'}: ${typeWords(each)}`)
    .join(', ');
}

function typeWords(schema: unknown): string {
  const isObject = typeof schema === 'object' && schema !== null;
  const type: unknown = isObject && 'type' in schema ? schema.type : undefined;
  if (typeof type === 'string') return type;
  return isObject && 'enum' in schema && Array.isArray(schema.enum)
    ? schema.enum.map((each) => JSON.stringify(each)).join(' | ')
    : 'any';
}
