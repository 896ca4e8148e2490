/**
 * The leader's side of SQL: from a request to a job that can be submitted, and from a finished job to rows. Running
 * fragments is the worker's side.
 */
export { SqlPlanner } from './planner.ts';
export { FragmentOutputs } from './fragment-outputs.ts';
export { registeredFigures } from './registered-result.ts';
export { QueryResults } from './results.ts';
export { ResultSpool } from './result-spool.ts';
