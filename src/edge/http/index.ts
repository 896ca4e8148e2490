/**
 * The API for people and their tools: HTTP with JSON, server-sent events, OpenAPI and metrics. A
 * table of routes says what is served, to whom and how it is described. It reads through a port and
 * changes through the services of whoever leads; stores, schedulers and gRPC live elsewhere.
 */
export type { LeaderFigures, Standing } from './ports.ts';
export { startApi } from './server.ts';
export type { Api, ApiOptions } from './server.ts';
