import type { CommandModule } from '../command.ts';
import { serveUntil } from '../serving.ts';
import { configFor, declareSettings } from '../settings.ts';
import { openOrCreate, storePlace } from '../store-place.ts';

export const command: CommandModule = {
  examples: ['millrace up', 'millrace up --data ./work --slots 4 --module ./tasks.js'],
  declare(cli) {
    declareSettings(cli, [
      'data',
      'port',
      'grpcPort',
      'host',
      'slots',
      'modules',
      'nodeId',
      'tokenFile',
      'tlsCert',
      'tlsKey',
      'tlsCa',
      'insecure',
    ]);
  },
  async run(cli, reply, signal) {
    const config = configFor(cli, process.env);
    const place = storePlace({ data: config.node.data }, {});
    const { store } = await openOrCreate(place);
    // Nobody else can lead on a file of its own: there is nothing to wait for.
    const node = { ...config.node, role: 'leader' as const };
    return serveUntil({ ...config, node }, store, reply, signal);
  },
};
