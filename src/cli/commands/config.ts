import { environmentName } from '../../node/config/index.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { configFor, declareSettings } from '../settings.ts';

export const command: CommandModule = {
  examples: [
    'millrace config',
    'millrace config --json --config ./millrace.config.yaml',
    'MILLRACE_SESSION_TTL_MS=30s millrace config',
  ],
  declare(command) {
    declareSettings(command, []);
  },
  run(command, reply) {
    const config = configFor(command, process.env);
    const settings = config.effective();
    const width = Math.max(...settings.map(({ name }) => name.length));
    for (const { name, text, source, from } of settings) {
      const origin = source === 'default' ? source : `${source}: ${from}`;
      reply.say(`${name.padEnd(width)}  ${text || '-'}  (${origin})`);
    }
    reply.say(
      config.file === undefined
        ? 'No configuration file was read.'
        : `Configuration file: ${config.file}.`,
    );
    const plain = settings.map(({ name, value, source, from, help }) => ({
      name,
      variable: environmentName(name),
      value,
      source,
      from,
      help,
    }));
    reply.answer({ file: config.file ?? null, settings: plain });
    return Promise.resolve(exit.done);
  },
};
