import type { CommandModule } from '../command.ts';
import { upUntil } from '../serving.ts';
import { configFor, declareSettings } from '../settings.ts';

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
      'allowPrivateHttp',
      'allowCommand',
      'allowEnv',
      'allowContainer',
      'nodeId',
      'tokenFile',
      'tlsCert',
      'tlsKey',
      'tlsCa',
      'insecure',
    ]);
  },
  run(cli, reply, signal) {
    return upUntil(configFor(cli, process.env), reply, signal);
  },
};
