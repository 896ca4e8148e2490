/**
 * The event log's vocabulary. Rows store the number, so a kind's position never changes: add new
 * ones at the end.
 */
export const LOG_KINDS = [
  'created',
  'queued',
  'assigned',
  'started',
  'progress',
  'completed',
  'failed',
  'retried',
  'reassigned',
  'cancelled',
  'skipped',
  'dead',
  'suspended',
  'released',
  'job.created',
  'job.started',
  'job.succeeded',
  'job.failed',
  'job.cancelled',
  'job.rerun',
  'node.registered',
  'node.stale',
  'node.dead',
  'node.draining',
  'node.left',
  'node.quarantined',
  'node.released',
  'leader.elected',
  'schedule.fired',
  'schedule.missed',
  'job.signalled',
  'schedule.changed',
  'recomputed',
  'held',
  'history.rewound',
  'job.signal_unfit',
  'duplicated',
  'discarded',
  'queue.paused',
  'queue.resumed',
  'job.prioritized',
  'job.removed',
  'job.rescheduled',
] as const;
export type LogKind = (typeof LOG_KINDS)[number];

const NUMBERS: ReadonlyMap<LogKind, number> = new Map(LOG_KINDS.map((kind, at) => [kind, at]));

export function logKindNumber(kind: LogKind): number {
  return NUMBERS.get(kind) as number;
}
