/**
 * The client of a server's HTTP API: it finds the leader and follows it, repeats what may be
 * repeated, resumes streams where they broke off, and turns every answer into a value or a
 * `MillraceError`. It knows no store and no coordinator; what jobs and nodes look like stands in
 * the protocol room.
 */
export { HttpClient } from './http-client.ts';
export type { ListOptions, QueryCalls } from './query-calls.ts';
export { readRows } from './json-rows.ts';
export type { JsonRow, ResultColumn } from './json-rows.ts';
export type {
  DatedJob,
  JobsFilter,
  JobsPage,
  QueryPage,
  QueryRequest,
  ResultFormat,
  Submitted,
} from './answers.ts';
