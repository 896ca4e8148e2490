/** Settings of a worker that the leader does not know; those of the leader come with the registration. */
export interface WorkerSettings {
  /** Time for running tasks to finish when the worker drains. */
  readonly drainMs: number;
  /** Time for a handler to heed its abort signal; after that the process ends itself. */
  readonly abortGraceMs: number;
  /** How long a goodbye is tried when the leader does not answer: the TTL does the same, later. */
  readonly leaveMs: number;
  /** The least time between two polls of which the first brought nothing. */
  readonly pollPaceMs: number;
  /** A parked poll that asks for too little is renewed, but not before this. */
  readonly pollRenewMs: number;
  /** Wait after the first failed call, doubled for each further one up to the longest. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** How long another worker with this name may be heard before this one gives up. Longer than a few heartbeats. */
  readonly nameTakenMs: number;
  /** The same as `retryMaxMs`, between two sessions that did not last. */
  readonly rejoinMaxMs: number;
  /** With more than this unreported the worker takes no further work. */
  readonly unreportedItemsMax: number;
  readonly unreportedBytesMax: number;
  /** One report carries at most this many items, and stops growing at this many bytes. */
  readonly reportItemsMax: number;
  readonly reportBytesMax: number;
}

export const defaultWorkerSettings: WorkerSettings = {
  drainMs: 30_000,
  abortGraceMs: 30_000,
  leaveMs: 3_000,
  pollPaceMs: 50,
  pollRenewMs: 20,
  retryMs: 100,
  // A fail-over takes a second or so: no retry should sleep through it.
  retryMaxMs: 1_000,
  nameTakenMs: 30_000,
  rejoinMaxMs: 30_000,
  unreportedItemsMax: 10_000,
  unreportedBytesMax: 64 * 2 ** 20,
  reportItemsMax: 1_000,
  reportBytesMax: 2 * 2 ** 20,
};
