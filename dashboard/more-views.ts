/** Views that are not part of the first load. What they share with the page comes from the page: see `shared.ts`. */
export { HealthView } from './views/health.tsx';
export { QueriesView } from './views/query/queries.tsx';
export { QueryView } from './views/query/query.tsx';
export { SchedulesView } from './views/schedules.tsx';
