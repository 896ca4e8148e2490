import type { FlowShape } from '../../scheduler/contract/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { plain, table } from '../table.ts';
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
      else for (const line of [...flowTable(flows), ...scheduleNotes(flows)]) reply.say(line);
      reply.answer({ flows });
      return exit.done;
    });
  },
};

function flowTable(flows: readonly FlowShape[]): string[] {
  return table(
    ['FLOW', 'VERSION', 'NODES', 'EVENTS', 'SCHEDULES', 'INPUT'],
    flows.map(({ name, version, input, nodes, on = [], schedules = [] }) => [
      name,
      version,
      nodes.length === 0 ? 'none' : shortened(nodes.join(' '), 40),
      on.length === 0 ? '-' : shortened(on.map(eventWords).join(' '), 40),
      schedules.length === 0 ? '-' : shortened(schedules.map(({ id }) => id).join(' '), 40),
      shortened(inputWords(input), 80),
    ]),
  );
}

/** `order.created`, or `order.created(region=eu)`. */
function eventWords(start: NonNullable<FlowShape['on']>[number]): string {
  if (typeof start === 'string') return start;
  const fields = Object.entries(start.match).map(([field, value]) => `${field}=${value}`);
  return plain(`${start.event}(${fields.join(',')})`);
}

/** Why schedules are not there as their flows declare them. */
function scheduleNotes(flows: readonly FlowShape[]): string[] {
  return flows.flatMap(({ name, schedules = [] }) =>
    schedules.flatMap(({ id, note }) =>
      note === undefined ? [] : [plain(`Schedule ${id} of flow ${name}: ${note}`)],
    ),
  );
}

/** `id: string, cents: integer, note?: string` for the usual object; otherwise the type, if there is one. */
function inputWords(schema: FlowShape['input']): string {
  const { type, properties, required } = schema;
  if (type === 'null') return 'none';
  const isObject = typeof properties === 'object' && properties !== null;
  if (!isObject) return typeWords(schema);
  const needed = Array.isArray(required) ? (required as readonly unknown[]) : [];
  return Object.entries(properties)
    .map(([name, each]) => `${name}${needed.includes(name) ? '' : '?'}: ${typeWords(each)}`)
    .join(', ');
}

function typeWords(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return 'any';
  const { type, enum: values, anyOf, oneOf, items } = schema as JsonSchema;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(' | ');
  if (type === 'array') return items === undefined ? 'array' : `${memberWords(items)}[]`;
  if (typeof type === 'string') return type;
  const kinds: unknown = anyOf ?? oneOf;
  if (Array.isArray(kinds)) return kinds.map((each) => typeWords(each)).join(' | ');
  return Array.isArray(type) ? type.join(' | ') : 'any';
}

function memberWords(items: unknown): string {
  const words = typeWords(items);
  return words.includes(' ') ? `(${words})` : words;
}

type JsonSchema = Readonly<Partial<Record<'type' | 'enum' | 'anyOf' | 'oneOf' | 'items', unknown>>>;
