/**
 * The client: it finds the leader and follows it, retries what is safe to retry, resumes broken streams, and
 * turns every answer into a value or a `MillraceError`. Other rooms import this file, which loads the HTTP
 * client and nothing more. Programs import `millrace.ts`, `worker.ts` and `server.ts`: the package's entry
 * points `millrace`, `millrace/worker` and `millrace/server`. Nothing is decided here; the shapes of jobs and
 * nodes are in the contract.
 */
export { HttpClient } from './http-client.ts';
export { JobError } from './job-error.ts';
export { readRows } from './sql/json-rows.ts';
export type { JsonRow, ResultColumn } from './sql/json-rows.ts';
export type { ListOptions, QueryCalls } from './sql/query-calls.ts';
export type {
  DatedJob,
  JobsPage,
  QueryPage,
  QueryRequest,
  ResultFormat,
  Submitted,
} from './answers.ts';
export type { Document, ResultOfJob, SubmitArguments, Submittable } from './client.ts';
export type {
  BulkOptions,
  JobRef,
  JobsFilter,
  JobsMatch,
  NewStart,
  SubmitOptions,
} from './options.ts';
export type { QueueName, Queues } from './queues.ts';
export { sentJobs } from './send-event.ts';
export { labelTerms, starterText } from './calls/jobs-match.ts';
export type { NewEvent, SendOptions, SentEvent, SentJob, SentJobs } from './send-event.ts';
export { schedulesOver } from './schedules.ts';
export type { Backfill, Schedules } from './schedules.ts';
