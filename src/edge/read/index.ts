/**
 * Reads from a store for people: rows become the public shapes, lists come in pages, and any number of
 * followers share one tail of the log. Nothing here changes anything, and nothing here knows of HTTP.
 */
export { EventFeed } from './event-feed.ts';
export { StoreReader } from './store-reader.ts';
export { JobWaits } from './job-waits.ts';
export { QueryViews } from './query-views.ts';
export { Replica } from './observer/replica.ts';
export type { ReplicaOptions } from './observer/replica.ts';
