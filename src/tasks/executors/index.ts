/**
 * What runs a task: the port that every executor keeps, the built-in ones, the registry of a worker, the
 * modules that users bring, the threads for work that keeps a processor busy, and how what a handler returns
 * or throws is read. Leases and slots do not live here: an executor knows one task and its context.
 */
export { annotate } from './span-attributes.ts';
export type { Annotated } from './span-attributes.ts';
export { builtIns, graceWithin } from './builtin.ts';
export type {
  Callable,
  EventOptions,
  EventSend,
  Executor,
  FlowDefinition,
  MapOptions,
  Mappable,
  StepOptions,
  StepRetry,
  JobStart,
  TaskContext,
  TaskDefinition,
  LogFields,
  TaskLog,
  Transaction,
  WaitFor,
  WaitForEvent,
  WaitOptions,
} from './executor.ts';
export { Fields } from './fields.ts';
export { matchingSignal } from './matching-signal.ts';
export type { OneEvent, OneSignal } from './matching-signal.ts';
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
export type { AnyJson, Jsonified, Recorded } from './json-types.ts';
export { attemptHooksOf } from './attempt-hooks.ts';
export type { AttemptHooks, WithAttemptHooks } from './attempt-hooks.ts';
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
export { withRetries } from './step-retry.ts';
export { startText, submitFields } from './submit-options.ts';
export type { KeyOptions, NewJobOptions, WebhookSpec } from './submit-options.ts';
export type { JsonText } from './result.ts';
export { AlreadyCompletedError, ChildJobError, ChildrenError } from './wait-errors.ts';
export type { FailedChild } from './wait-errors.ts';
export type { OutputStream } from './output-lines.ts';
