drop function millrace.update_jobs;

create function millrace.update_jobs(
  shard smallint, log_to bigint, no bigint[], state smallint[], run integer[], task_count integer[],
  stopping text[], error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  merge into millrace.job j
    using (select
      unnest(no) as no, unnest(state) as state, unnest(run) as run,
      unnest(task_count) as task_count, unnest(stopping) as stopping, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) as u
    on j.shard = update_jobs.shard and j.no = u.no
    when matched then update
      set state = u.state, run = u.run, task_count = u.task_count, stopping = u.stopping,
          error_code = u.error_code, error_message = u.error_message,
          started_at = u.started_at, finished_at = u.finished_at,
          log_to = case when u.finished_at is not null then update_jobs.log_to end
    when not matched then insert (shard) values (millrace.refuse(format('there is no job %s', u.no)));
  delete from millrace.job_live l
    where l.shard = update_jobs.shard and l.no = any (array(
      select u.no from (select unnest(no) as no, unnest(finished_at) as finished_at) u
      where u.finished_at is not null));
  if 1 < any (run) then
    insert into millrace.job_live (shard, no, priority)
      select j.shard, j.no, j.priority from millrace.job j
      where j.shard = update_jobs.shard and j.no = any (no) and j.run > 1 and j.finished_at is null
      on conflict do nothing;
  end if;
  return shard;
end $$;

create or replace function millrace.event_kind(number integer) returns text immutable language sql as $$
  select (array[
    'created', 'queued', 'assigned', 'started', 'progress', 'completed', 'failed', 'retried', 'reassigned',
    'cancelled', 'skipped', 'dead', 'suspended', 'released', 'job.created', 'job.started', 'job.succeeded',
    'job.failed', 'job.cancelled', 'job.rerun', 'node.registered', 'node.stale', 'node.dead', 'node.draining',
    'node.left', 'node.quarantined', 'node.released', 'leader.elected', 'schedule.fired', 'schedule.missed',
    'job.signalled', 'schedule.changed', 'recomputed', 'held', 'history.rewound', 'job.signal_unfit',
    'duplicated', 'discarded', 'queue.paused', 'queue.resumed'])[number + 1]
$$;

-- An older version reads no log with a kind that it does not know. The kinds are the first column of a chunk, one for all
-- its events or a list; 31 is `schedule.changed`, which asks nothing of a reader.
update millrace.event_chunk c set body =
  regexp_replace(k.kinds, '\m(40|41)\M', '31', 'g') || substr(c.body, length(k.kinds) + 1)
  from (select e.shard, e.last_seq, substring(e.body from '^\[(?:[0-9]+|\[[0-9,]*\])') as kinds
          from millrace.event_chunk e) k
 where k.shard = c.shard and k.last_seq = c.last_seq and k.kinds ~ '\m(40|41)\M';
