/**
 * Runs the tasks of queries on a worker: brings the inputs here, lets an engine run the fragment, keeps the output.
 * What leads to a plan, and what becomes of results, is not decided here.
 */
export { openQueryNode } from './query-node.ts';
export type { QueryNode } from './query-node.ts';
