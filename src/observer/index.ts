/**
 * A read-only copy of the cluster that goes on answering while the leader or the database is away.
 * It is a reader over another reader: over a store, or over the network for a node that has no
 * database. What it answers says how fresh it is. Nothing here writes.
 */
export { Replica } from './replica.ts';
export type { ReplicaOptions } from './replica.ts';
