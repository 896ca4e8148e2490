-- What people read with psql. Names and words are those of the HTTP API; docs/guide/operations.md describes them. A view shows
-- what is committed, without payloads and without session ids. The tables behind may change with any version.

create view millrace.jobs as
  select j.id, j.name,
      (array['queued', 'running', 'succeeded', 'failed', 'cancelled'])[j.state + 1] as state,
      j.run, j.priority, j.task_count as tasks, j.labels, j.idempotency_key, j.schedule_id, j.error_code,
      j.error_message, j.created_at, j.run_at, j.started_at, j.finished_at
    from millrace.job j;

-- `node` is the one that had the task last.
create view millrace.tasks as
  select j.id as job, s.id as task,
      (array['blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'])[t.state + 1] as state,
      s.executor, t.run, t.attempt, t.failures, t.losses, t.fence, t.node_id as node, t.progress, t.error_code,
      t.error_message, t.queued_at, t.not_before, t.started_at, t.finished_at
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no;

-- A lease ends with the session of its node, and `since` is null until the worker has begun. `is_held` is false of a
-- lease whose session has been replaced: the leader is about to end it.
create view millrace.leases as
  select j.id as job, s.id as task, t.node_id as node, t.attempt, t.fence, t.started_at as since,
      n.status as node_status, coalesce(n.session_id = t.session_id, false) as is_held
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no
    left join millrace.node n on n.shard = t.shard and n.id = t.node_id
   where t.state = 3;

create view millrace.nodes as
  select n.id as node, n.status, n.draining, n.slots, n.prefetch, n.executors, n.capabilities, n.address, n.version,
      n.quarantined_until, n.registered_at, n.seen_at
    from millrace.node n;

-- The task that holds or completed a key. Results are left out.
create view millrace.idempotency_keys as
  select k.scope, k.state, j.id as job, s.id as task, k.updated_at
    from millrace.idempotency k
    left join millrace.job j on j.shard = k.shard and j.no = k.job_no
    left join millrace.task_spec s on s.shard = k.shard and s.job_no = k.job_no and s.task_no = k.task_no;

-- LOG_KINDS of the core, by number.
create function millrace.event_kind(number integer) returns text immutable language sql as $$
  select (array[
    'created', 'queued', 'assigned', 'started', 'progress', 'completed', 'failed', 'retried', 'reassigned',
    'cancelled', 'skipped', 'dead', 'suspended', 'released', 'job.created', 'job.started', 'job.succeeded',
    'job.failed', 'job.cancelled', 'job.rerun', 'node.registered', 'node.stale', 'node.dead', 'node.draining',
    'node.left', 'node.quarantined', 'node.released', 'leader.elected', 'schedule.fired', 'schedule.missed',
    'job.signalled', 'schedule.changed', 'recomputed', 'held', 'history.rewound', 'job.signal_unfit',
    'duplicated', 'discarded'])[number + 1]
$$;

-- A cell of a chunk: a column whose values are all the same is that value alone (event-chunk.ts).
create function millrace.event_cell(body json, place integer, row_no integer) returns text immutable language sql as $$
  select case when json_typeof(body -> place) = 'array' then body -> place ->> row_no else body ->> place end
$$;

-- The gap-free log. `commit_at` is the time of the newest event in the chunk; restrict it to read a part of a long log,
-- because chunks are unpacked before `seq` is known. A job that was removed has no id any more.
create view millrace.events as
  select e.seq,
      c.at - millrace.event_cell(c.columns, 1, e.row_no)::bigint * interval '1 millisecond' as at,
      millrace.event_kind(millrace.event_cell(c.columns, 0, e.row_no)::integer) as event,
      j.id as job, s.id as task,
      millrace.event_cell(c.columns, 4, e.row_no) as node,
      millrace.event_cell(c.columns, 5, e.row_no)::integer as run,
      millrace.event_cell(c.columns, 6, e.row_no)::integer as attempt,
      millrace.event_cell(c.columns, 7, e.row_no)::bigint as fence,
      millrace.event_cell(c.columns, 8, e.row_no) as detail,
      c.at as commit_at
    from (select x.shard, x.first_seq, x.last_seq, x.at, x.job_min, x.body::json as columns from millrace.event_chunk x) c
    join millrace.leader l on l.shard = c.shard
    cross join lateral (
      select g.seq, (g.seq - c.first_seq)::integer as row_no
        from generate_series(greatest(c.first_seq, l.first_seq), c.last_seq) as g(seq)) e
    left join lateral (
      select x.id, x.no from millrace.job x
       where x.shard = c.shard and x.no = c.job_min + millrace.event_cell(c.columns, 2, e.row_no)::bigint) j on true
    left join lateral (
      select x.id from millrace.task_spec x
       where x.shard = c.shard and x.job_no = j.no
         and x.task_no = millrace.event_cell(c.columns, 3, e.row_no)::integer) s on true;
