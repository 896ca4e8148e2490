/** A worker process of graphile-worker: `graphile-process.ts URL tuned|default`. */
import { Logger, run } from 'graphile-worker';

const [connectionString = '', kind = 'default'] = process.argv.slice(2);
const tuned = {
  concurrentJobs: 24,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
const runner = await run({
  preset: {
    worker: {
      connectionString,
      concurrentJobs: 8,
      ...(kind === 'tuned' ? tuned : {}),
      logger: new Logger(() => () => {}),
    },
  },
  noHandleSignals: true,
  taskList: { echo: (payload) => void payload },
});
process.stdout.write('ready\n');
process.on('SIGTERM', () => {
  runner.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
