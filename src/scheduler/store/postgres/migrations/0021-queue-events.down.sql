create or replace function millrace.event_kind(number integer) returns text immutable language sql as $$
  select (array[
    'created', 'queued', 'assigned', 'started', 'progress', 'completed', 'failed', 'retried', 'reassigned',
    'cancelled', 'skipped', 'dead', 'suspended', 'released', 'job.created', 'job.started', 'job.succeeded',
    'job.failed', 'job.cancelled', 'job.rerun', 'node.registered', 'node.stale', 'node.dead', 'node.draining',
    'node.left', 'node.quarantined', 'node.released', 'leader.elected', 'schedule.fired', 'schedule.missed',
    'job.signalled', 'schedule.changed', 'recomputed', 'held', 'history.rewound', 'job.signal_unfit',
    'duplicated', 'discarded'])[number + 1]
$$;
-- Paused queues are rows of millrace.limits, which an older version would take for rates without a start.

-- An older version reads no log with a kind that it does not know. The kinds are the first column of a chunk, one for all
-- its events or a list; 31 is `schedule.changed`, which asks nothing of a reader.
update millrace.event_chunk c set body =
  regexp_replace(k.kinds, '\m(38|39)\M', '31', 'g') || substr(c.body, length(k.kinds) + 1)
  from (select e.shard, e.last_seq, substring(e.body from '^\[(?:[0-9]+|\[[0-9,]*\])') as kinds
          from millrace.event_chunk e) k
 where k.shard = c.shard and k.last_seq = c.last_seq and k.kinds ~ '\m(38|39)\M';
