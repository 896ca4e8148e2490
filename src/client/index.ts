/**
 * The client: it finds the leader and follows it, repeats what may be repeated, resumes streams where they broke
 * off, and turns every answer into a value or a `MillraceError`. Other rooms of Millrace import this door, which
 * loads the HTTP client and nothing more. Programs import `millrace.ts`, `worker.ts` and `server.ts`: the package's
 * doors `millrace`, `millrace/worker` and `millrace/server`. Nothing is decided here; what jobs and nodes look like
 * stands in the contract.
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
export type { Document, InputAndOptions } from './client.ts';
export type { JobRef, JobsFilter } from './options.ts';
