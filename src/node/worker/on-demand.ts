/** Connects a worker to a cluster. Loaded on first use: gRPC and the executors of queries take longer to load than
 * everything else, and tests of flows in memory need neither. */
import type { OpenWorker, OpenWorkerOptions } from './open-worker.ts';
import type { WorkerProcessSettings, WorkerWorld } from './process.ts';

/** Not started: nothing has been said to the leader yet. */
export async function openWorker(options: OpenWorkerOptions): Promise<OpenWorker> {
  return (await import('./open-worker.ts')).openWorker(options);
}

/** Runs until it has drained. Rejects when it cannot run as it is. */
export async function runWorkerProcess(
  settings: WorkerProcessSettings,
  world: WorkerWorld,
): Promise<void> {
  return (await import('./process.ts')).runWorkerProcess(settings, world);
}
