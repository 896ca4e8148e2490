/**
 * A node of the cluster: its part in it (candidate, follower, observer), its listeners (gRPC and HTTP),
 * its own worker in a process beside it, and the order in which they begin and end. What each of
 * them does lives in their rooms; here they are only put together.
 */
export { ServerNode } from './node.ts';
export { WorkerSupervisor } from './worker-supervisor.ts';
export { workerFlags } from './worker-flags.ts';
