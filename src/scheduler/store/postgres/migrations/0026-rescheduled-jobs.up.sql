-- One more of the LOG_KINDS of the core.
create or replace function millrace.event_kind(number integer) returns text immutable language sql as $$
  select (array[
    'created', 'queued', 'assigned', 'started', 'progress', 'completed', 'failed', 'retried', 'reassigned',
    'cancelled', 'skipped', 'dead', 'suspended', 'released', 'job.created', 'job.started', 'job.succeeded',
    'job.failed', 'job.cancelled', 'job.rerun', 'node.registered', 'node.stale', 'node.dead', 'node.draining',
    'node.left', 'node.quarantined', 'node.released', 'leader.elected', 'schedule.fired', 'schedule.missed',
    'job.signalled', 'schedule.changed', 'recomputed', 'held', 'history.rewound', 'job.signal_unfit',
    'duplicated', 'discarded', 'queue.paused', 'queue.resumed',
    'job.prioritized', 'job.removed', 'job.rescheduled'])[number + 1]
$$;
