/**
 * The entry point `millrace`: how work is defined, and the client that submits it, to a runtime inside the program or
 * to a server. The entry points `millrace/worker` and `millrace/server` are files beside this one. Nothing is decided
 * here; and neither gRPC nor DuckDB is loaded before a runtime starts.
 */
export { MillraceError, isMillraceError } from '../scheduler/core/index.ts';
export type {
  Capabilities,
  ErrorCode,
  Explanation,
  JobOutcome,
  JobState,
  Json,
  Keep,
  LogKind,
  OperatorDistribution,
  Priority,
  TaskError,
  TaskState,
} from '../scheduler/core/index.ts';
export {
  AlreadyCompletedError,
  ChildJobError,
  ChildrenError,
  FatalError,
  MisuseError,
  RetryAfterError,
} from '../tasks/executors/index.ts';
export type {
  Callable,
  ColumnValues,
  Executor,
  FlowDefinition,
  FunctionDefinition,
  MapOptions,
  Mappable,
  NewJobOptions,
  OperatorBatch,
  OperatorContext,
  OperatorDefinition,
  OperatorOutput,
  ParameterSpec,
  StepOptions,
  StepRetry,
  JobStart,
  TaskContext,
  TaskDefinition,
  TaskLog,
  Transaction,
  WaitOptions,
  WebhookSpec,
} from '../tasks/executors/index.ts';
export {
  BadResultError,
  builtIns,
  defineFlow,
  defineFunction,
  defineOperator,
  defineTask,
  externalFlow,
  externalTask,
  sqlTask,
} from '../tasks/flow/index.ts';
export type {
  AggregateInput,
  BuiltIns,
  CommandInput,
  ProcessLimits,
  ProcessResult,
  Comparison,
  Condition,
  ContainerInput,
  ExternalFlow,
  ExternalTask,
  Flow,
  FlowGraph,
  FlowGraphTask,
  FlowKit,
  Failure,
  FlowParts,
  OwnSchedule,
  FunctionParts,
  HttpInput,
  HttpResult,
  InputRef,
  Jsonified,
  MapUse,
  Operand,
  OperatorParts,
  ParameterSpecs,
  ParametersOf,
  PlacementOptions,
  Ref,
  ResultOf,
  Settled,
  SqlInput,
  SqlResult,
  Task,
  TaskArguments,
  TaskDefaults,
  TaskParts,
  TaskRef,
  TaskUse,
  TimeoutOptions,
  Usable,
  Wired,
  WiredJson,
} from '../tasks/flow/index.ts';
export type { ResultFormat } from './answers.ts';
export type { Duration } from '../kit/index.ts';
export { verifyWebhook } from '../scheduler/contract/index.ts';
export type {
  BulkAction,
  BulkOutcome,
  EventShape,
  FlowShape,
  JobShape,
  JobSummary,
  LogShape,
  CountedQueue,
  ChangedQueue,
  NodeShape,
  PastRun,
  QueryShape,
  ReceivedHeaders,
  StageShape,
  TaskShape,
  VerifyOptions,
  WebhookEvent,
  WebhookRequest,
} from '../scheduler/contract/index.ts';
export type {
  Client,
  Document,
  EventSubscription,
  InputAndOptions,
  JobHandle,
  RescheduledJob,
  ResultOfJob,
  Submission,
  Submit,
  SubmitArguments,
  Submittable,
} from './client.ts';
export type {
  BulkOptions,
  CallOptions,
  ConnectOptions,
  EventsOptions,
  ForkOptions,
  JobRef,
  JobsFilter,
  JobsMatch,
  NewStart,
  LogsOptions,
  NodesOptions,
  RerunOptions,
  SignalOptions,
  SubmitOptions,
  TlsFileNames,
  WatchOptions,
} from './options.ts';
export { connect } from './connect.ts';
export { JobError } from './job-error.ts';
export type { LogOption } from './log.ts';
export type { Offered } from './registry.ts';
export { createRuntime } from './runtime/runtime.ts';
export {
  buildVectorIndex,
  type VectorIndex,
  type VectorIndexOptions,
} from './vectors/build-index.ts';
export { nearest, type SearchOptions } from './vectors/nearest.ts';
export type { Metric, NearestOptions, Vector } from './vectors/nearest-sql.ts';
export type { Runtime, RuntimeOptions, RuntimeSettings } from './runtime/runtime.ts';
export type { QueueName, Queues } from './queues.ts';
export type { NewEvent, SendOptions, SentJob, SentJobs } from './send-event.ts';
export type {
  Schedule,
  ScheduledWork,
  Backfill,
  BackfillRange,
  ScheduleInfo,
  Schedules,
  ScheduleTiming,
} from './schedules.ts';
export { QueryError } from './sql/sql.ts';
export type {
  Sql,
  SqlColumn,
  SqlOptions,
  SqlParameter,
  SqlPlan,
  SqlQuery,
  SqlRow,
  SqlSettings,
  SqlTable,
  SqlTables,
  SqlValue,
} from './sql/sql.ts';
