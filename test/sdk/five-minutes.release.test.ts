/** The promise of the first five minutes: one file, typed, embedded, and on a cluster without a change. */
import { expect, test, vi } from 'vitest';
import { startCluster } from '../rig/cluster/cluster.ts';
import { freshDatabase } from '../rig/postgres.ts';
import { onTestFinished } from 'vitest';
import { project } from './project.ts';

const SENT = /^A-1-1200: box of tea, box of cups \(A-1-1200\)$/;

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 120_000 });

test('the same file runs on a cluster, with workers that have loaded it', async () => {
  const { run, file } = project();
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const cluster = await startCluster({
    database: database.url,
    leaders: 1,
    workers: 2,
    modules: [file('order.ts')],
  });
  const running = run('remote.ts', cluster.urls.join(','));
  await running.line(SENT, 60_000);
  expect(await running.exited).toEqual({ code: 0, signal: null });
  await cluster.stop();
});
