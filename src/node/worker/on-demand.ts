/**
 * What connects a worker to a cluster. It is loaded when it is first called: gRPC and the executors of queries take
 * longer to load than all the rest, and whoever tests flows in memory needs neither.
 */
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
