import type { Config } from '../../node/config/index.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { CommandModule } from '../command.ts';
import { serveUntil } from '../serving.ts';
import { ACCESS_SETTINGS, configFor, declareSettings, EXECUTOR_SETTINGS } from '../settings.ts';
import type { StorePlace } from '../../node/thread/index.ts';

export const command: CommandModule = {
  examples: [
    'millrace serve --database postgres://millrace@db/millrace',
    'millrace serve --role observer --server leader.example:7071 --port 7080',
  ],
  declare(cli) {
    declareSettings(cli, [
      'database',
      'role',
      'servers',
      'host',
      'port',
      'grpcPort',
      'advertise',
      'nodeId',
      'slots',
      'threads',
      'memoryBytes',
      'data',
      'catalog',
      'roots',
      'modules',
      ...EXECUTOR_SETTINGS,
      ...ACCESS_SETTINGS,
    ]);
  },
  async run(cli, reply, signal) {
    const config = configFor(cli, process.env);
    return serveUntil(config, placeFor(config), reply, signal);
  },
};

/** Null for an observer that watches from afar. */
function placeFor({ node }: Config): StorePlace | null {
  const { database, role, servers } = node;
  if (database === undefined) {
    if (role === 'observer' && servers.length > 0) return null;
    throw new MillraceError({
      code: 'bad_input',
      what: 'A cluster needs a PostgreSQL database.',
      todo: 'Set it with --database postgres://..., or use `millrace up` for a single node.',
    });
  }
  return { kind: 'postgres', url: database };
}
