/**
 * What the parts of Millrace agree on: the public shapes of jobs, nodes and queries, the ports between leader, workers,
 * readers and shuffle, and the version handshake. Types and small pure functions only: no transport, no packages.
 */
export type * from './committed-events.ts';
export { cursorOf, readCursor } from './cursor.ts';
export { idempotencyKeyOf } from './execution-key.ts';
export type * from './flow-service.ts';
export type * from './fragment-port.ts';
export type { LogLevel, LogPage, LogShape, LogsQuery, TaskLogLine } from './task-log.ts';
export { millraceVersion, ownHandshake } from './handshake.ts';
export * from './bulk.ts';
export type * from './job-service.ts';
export { JsonText } from './json-text.ts';
export type { ReadJob, ReadResult } from './json-text.ts';
export type * from './leader-services.ts';
export * from './query-service.ts';
export { nodesThat } from './node-filter.ts';
export type { NodeFilter } from './node-filter.ts';
export { PAYLOAD_BYTES_MAX } from './payload.ts';
export type * from './queue-service.ts';
export type * from './reader-port.ts';
export type * from './schedule-service.ts';
export type * from './shapes.ts';
export * from './shuffle-port.ts';
export * from './event-job.ts';
export * from './submitted-job.ts';
export * from './worker-service.ts';
export * from './webhook-signature.ts';
