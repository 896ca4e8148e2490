/**
 * A worker: it registers with the leader, pulls tasks, runs them in slots and reports until there is a verdict. Its
 * heartbeat has its own thread, so a handler that blocks keeps its lease, and a worker that cannot renew stops its
 * work before the lease can have expired. It sees the leader only through the port for workers: no store, no
 * database, no rule of the scheduler is here.
 */
export { HeartbeatLoop } from './heartbeat-loop.ts';
export { Worker } from './worker.ts';
export type { WorkerOptions } from './worker.ts';
export type { OpenWorker } from './open-worker.ts';
export { openWorker, runWorkerProcess } from './on-demand.ts';
export { registryOf } from './registry.ts';
