/**
 * Reading from a store as people want it: rows become the public shapes, lists come in pages, and
 * any number of followers share one tail of the log. Nothing here changes anything, and nothing
 * here knows of HTTP: whoever serves these answers lives in another room.
 */
export { EventFeed } from './event-feed.ts';
export { StoreReader } from './store-reader.ts';
export { JobWaits } from './job-waits.ts';
export { QueryViews } from './query-views.ts';
export { Replica } from './observer/replica.ts';
export type { ReplicaOptions } from './observer/replica.ts';
