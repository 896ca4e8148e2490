import type { CommandModule } from '../command.ts';
import { configFor, declareSettings, EXECUTOR_SETTINGS } from '../settings.ts';

export const command: CommandModule = {
  examples: [
    'millrace dev --module ./tasks.ts',
    'millrace dev --cluster --module ./tasks.ts',
    'millrace dev --cluster --data ./cluster --port 7070',
  ],
  declare(command) {
    command.option(
      '--cluster',
      'a local PostgreSQL, a leader, a standby and two workers; in a temporary folder, or in --data',
    );
    declareSettings(command, [
      'modules',
      'data',
      'port',
      'grpcPort',
      'slots',
      'nodeId',
      ...EXECUTOR_SETTINGS,
    ]);
  },
  async run(command, reply, signal) {
    const config = configFor(command, process.env);
    if (command.opts<{ cluster?: true }>().cluster === true) {
      const { runCluster } = await import('../dev/cluster.ts');
      // A single node keeps its folder between runs; a cluster does so only where one is named.
      const isNamed = config.effective().some(({ name, source }) => {
        return name === 'data' && source !== 'default';
      });
      return runCluster({ config, data: isNamed ? config.node.data : null, reply, signal });
    }
    const { reloadOnChange } = await import('../dev/reloading.ts');
    const { upUntil } = await import('../serving.ts');
    return upUntil(config, reply, signal, (node, say) =>
      reloadOnChange(config.node.modules, () => node.ready.then(() => node.replaceWorker()), say),
    );
  },
};
