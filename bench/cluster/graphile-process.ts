/** A worker process of graphile-worker: `graphile-process.ts URL tuned|default`. */
import { Logger, run } from 'graphile-worker';
import { stamp } from './stamping.js';

const [connectionString = '', kind = 'default'] = process.argv.slice(2);
const tuned = {
  concurrentJobs: 24,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
/** For the audit: a job that ran twice for one that did not run shows in the sum. */
const ran = { count: 0, sum: 0 };
const numberIn = (payload: unknown): number => (payload as { readonly id: number }).id;

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
  taskList: {
    echo: (payload) => {
      ran.count += 1;
      ran.sum += numberIn(payload);
    },
    stamp: (payload) => stamp((payload as { readonly key: string }).key),
  },
});
process.stdout.write('ready\n');
process.on('message', () => process.send?.(ran));
process.on('SIGTERM', () => {
  runner.stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
