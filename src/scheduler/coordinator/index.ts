/**
 * The leader: elected for a term, it feeds events to the core, commits the effects in groups and
 * answers after the commit. Dispatching, loading, election and the services at which clients and
 * workers are served live here. The rules themselves live in the core, the tables in the store.
 */
export { cronCalendar } from './calendar.ts';
export { LeaderElection } from './leader-election.ts';
export type { LeaderElectionOptions } from './leader-election.ts';
export { lossText } from './history.ts';
export type { Loss } from './history.ts';
export { Leader } from './leader.ts';
export type { LeaderOptions } from './leader.ts';
export { LeaderMeasures } from './leader-measures.ts';
export { LeaderGateway } from './leader-gateway.ts';
export type { PlannedQuery, QueryPlanner } from './query-planner.ts';
export { WorkerWatch } from './worker-watch.ts';
