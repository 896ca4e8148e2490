/**
 * What runs a task: the port that every executor keeps, the built-in ones, the registry of a worker, the
 * modules that users bring, and how what a handler returns or throws is read. Leases, slots and the
 * network do not live here: an executor knows one task and its context.
 */
export { builtIns } from './builtin.ts';
export type { Executor, TaskContext, TaskDefinition, TaskLog } from './executor.ts';
export { FatalError, MissingOperatorError, classifyFailure } from './failure.ts';
export type { Failure } from './failure.ts';
export { loadModule } from './modules.ts';
export { ExecutorRegistry } from './registry.ts';
export { jsonText } from './result.ts';
export type { JsonText } from './result.ts';
