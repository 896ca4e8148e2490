/**
 * How work is written in TypeScript: tasks, flows of them, and operators, with types from end to end. A
 * definition is data and code: it checks itself, and makes job documents of inputs. What runs
 * tasks (the worker) and what takes documents (the client) do not live here.
 */
export { builtIns, sqlTask } from './built-ins.ts';
export type {
  AggregateInput,
  BuiltIns,
  CommandInput,
  ContainerInput,
  HttpInput,
  HttpResult,
  ProcessLimits,
  ProcessResult,
  SqlInput,
  SqlResult,
} from './built-ins.ts';
export type { Comparison, Condition, Operand } from './condition.ts';
export type { FlowGraph, FlowGraphTask } from './document.ts';
export { externalFlow } from './external-flow.ts';
export type { ExternalFlow } from './external-flow.ts';
export { defineFlow } from './flow.ts';
export type { Flow, FlowParts } from './flow.ts';
export type { Jsonified } from '../executors/index.ts';
export type { FlowKit, MapUse, ResultOf, TaskArguments, TaskUse } from './builder.ts';
export { defineFunction, defineOperator } from './operator.ts';
export type { FunctionParts, OperatorParts, ParameterSpecs, ParametersOf } from './operator.ts';
export type { PlacementOptions, TaskDefaults, TimeoutOptions } from './options.ts';
export type { InputRef, Ref, Settled, TaskRef, Wired, WiredJson } from './ref.ts';
export { BadResultError } from './schema.ts';
export type { OwnSchedule, SchedulePolicies, ScheduleTiming } from './schedule-parts.ts';
export { submissionOf } from './submission.ts';
export { defineTask, externalTask } from './task.ts';
export type { ExternalTask, Task, TaskParts, Usable } from './task.ts';
export type { Failure } from './when-failed.ts';
