/**
 * What runs a task: the port that every executor keeps, the built-in ones, the registry of a worker, the
 * modules that users bring, the threads for work that keeps a processor busy, and how what a handler returns
 * or throws is read. Leases and slots do not live here: an executor knows one task and its context.
 */
export { annotate } from './annotated.ts';
export type { Annotated } from './annotated.ts';
export { builtIns, graceWithin } from './builtin.ts';
export type { BuiltInOptions } from './builtin.ts';
export type {
  Callable,
  Executor,
  FlowDefinition,
  MapOptions,
  Mappable,
  TaskContext,
  TaskDefinition,
  LogFields,
  TaskLog,
  Transaction,
  WaitFor,
  WaitOptions,
} from './executor.ts';
export { Fields } from './fields.ts';
export { fittingSignal } from './fitting-signal.ts';
export type { OneSignal } from './fitting-signal.ts';
export {
  FatalError,
  RetryAfterError,
  InputLostError,
  MissingOperatorError,
  TaskFailure,
  classifyFailure,
} from './failure.ts';
export type { Failure } from './failure.ts';
export { HandlerCalls, MisuseError, describeCall } from './handler-calls.ts';
export type { HandlerCall } from './handler-calls.ts';
export type { AnyJson, Jsonified, Recorded } from './jsonified.ts';
export { lifelineOf } from './lifeline.ts';
export type { Lifeline, WithLifeline } from './lifeline.ts';
export { definitionsOf } from './modules/definitions.ts';
export type { Definitions } from './modules/definitions.ts';
export { loadDefinitions, loadDefinitionsFrom, loadModule } from './modules/load.ts';
export { OperatorHost, failureOf } from './operators/host.ts';
export type { HostAnswer, HostRequest } from './operators/host.ts';
export { declarationOf } from './operators/operator.ts';
export { OperatorRun } from './operators/run.ts';
export type {
  ColumnValues,
  CustomDefinition,
  FunctionDefinition,
  OperatorBatch,
  OperatorContext,
  OperatorDefinition,
  OperatorOutput,
  ParameterSpec,
} from './operators/operator.ts';
export { ExecutorRegistry } from './registry.ts';
export type { RegisteredOperator } from './registry.ts';
export { jsonText } from './result.ts';
export type { JsonText } from './result.ts';
export type { ThreadSettings } from './threads/pool.ts';
export { AlreadyCompletedError, ChildJobError, ChildrenError } from './wait-errors.ts';
export type { FailedChild } from './wait-errors.ts';
export type { OutputStream } from './output-lines.ts';
