import type { CommandModule } from '../command.ts';
import { upUntil } from '../serving.ts';
import { ACCESS_SETTINGS, configFor, declareSettings, EXECUTOR_SETTINGS } from '../settings.ts';

export const command: CommandModule = {
  examples: ['millrace up', 'millrace up --data ./work --slots 4 --module ./tasks.js'],
  declare(cli) {
    declareSettings(cli, [
      'data',
      'port',
      'grpcPort',
      'host',
      'slots',
      'threads',
      'memoryBytes',
      'catalog',
      'roots',
      'modules',
      ...EXECUTOR_SETTINGS,
      'nodeId',
      ...ACCESS_SETTINGS,
    ]);
  },
  run(cli, reply, signal) {
    return upUntil(configFor(cli, process.env), reply, signal);
  },
};
