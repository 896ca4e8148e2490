/**
 * Runs fragment tasks on a worker: localizes the inputs, runs the fragment in an engine, retains the output.
 * Planning, and what becomes of results, is elsewhere.
 */
export { openQueryNode } from './query-node.ts';
export type { QueryNode, QueryNodeOptions } from './query-node.ts';
