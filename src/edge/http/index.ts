/**
 * The API for people and their tools: HTTP with JSON, server-sent events, OpenAPI and metrics. A table of
 * routes says what is served, to which roles and how it is described. It reads through a port and changes
 * through the services of the leader; stores, schedulers and gRPC are elsewhere.
 */
export type { LeaderFigures, Standing } from './ports.ts';
export { jobText } from './json-text.ts';
export { startApi } from './server.ts';
export type { Api, ApiOptions } from './server.ts';
