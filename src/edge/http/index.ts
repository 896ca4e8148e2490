/**
 * The API for people and their tools: HTTP with JSON, server-sent events, OpenAPI and metrics. A
 * table of routes says what is served, to whom and how it is described. It reads through a port and
 * changes through the desks of whoever leads; stores, schedulers and gRPC live elsewhere.
 */
export { defaultApiLimits } from './limits.ts';
export type { ApiLimits } from './limits.ts';
export type { LeaderDesk, LeaderFigures, QueryFigures, QueryPort, Standing } from './ports.ts';
export type { Problem, ProblemCode } from './problem.ts';
export { startApi } from './server.ts';
export type { Api, ApiOptions } from './server.ts';
