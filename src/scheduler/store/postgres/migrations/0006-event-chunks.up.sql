-- The log in chunks: a row holds up to 500 events of one commit as columns in JSON text, see
-- event-chunk.ts. A row an event was four tenths of what a commit cost the server.
--
-- Found by its last number: reading after a number starts at the right chunk without a search. The
-- index carries all but the body, so that looking for a job or for old chunks reads no bodies.
create table millrace.event_chunk (
  shard smallint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  -- The newest event's.
  at timestamptz not null,
  job_min bigint,
  job_max bigint,
  body text not null,
  primary key (shard, last_seq) include (first_seq, at, job_min, job_max),
  constraint event_chunk_size check (last_seq - first_seq between 0 and 499),
  constraint event_chunk_jobs check ((job_min is null) = (job_max is null))
) with (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
  toast.autovacuum_vacuum_scale_factor = 0.02
);

insert into millrace.event_chunk (shard, first_seq, last_seq, at, job_min, job_max, body)
  select e.shard, min(e.seq), max(e.seq), e.newest, e.job_min, max(e.job_no), json_build_array(
      json_agg(e.kind order by e.seq),
      json_agg((extract(epoch from e.newest - e.at) * 1000)::bigint order by e.seq),
      json_agg(e.job_no - e.job_min order by e.seq),
      json_agg(e.task_no order by e.seq),
      json_agg(e.node_id order by e.seq),
      json_agg(e.run order by e.seq),
      json_agg(e.attempt order by e.seq),
      json_agg(e.fence order by e.seq),
      json_agg(e.detail order by e.seq))::text
    from (
      select x.*, max(x.at) over w as newest, min(x.job_no) over w as job_min
        from millrace.event x join millrace.leader l on l.shard = x.shard and x.seq >= l.first_seq
        window w as (partition by x.shard, (x.seq - 1) / 500)
    ) e
   group by e.shard, (e.seq - 1) / 500, e.newest, e.job_min;

-- Between these two lie all events of a job: the number before its first, and that of the commit in
-- which it ended. Not known (0, null) of jobs that are older than these columns, or imported.
alter table millrace.job
  add column log_from bigint not null default 0,
  add column log_to bigint;

drop function millrace.first_event_since(smallint, timestamptz);
drop function millrace.forget_events(smallint, bigint);
drop function millrace.insert_events;
drop function millrace.insert_jobs;
drop function millrace.update_jobs;
drop function millrace.fence;
drop function millrace.extend_events;
drop function millrace.make_events;
drop table millrace.event, millrace.event_part;
alter table millrace.leader drop column event_limit;

create function millrace.fence(
  shard smallint, epoch bigint, term text, ttl_ms bigint, last_seq bigint, events integer, next_job_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  update millrace.leader l
     set last_seq = fence.last_seq, next_job_no = fence.next_job_no,
         expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = fence.shard and l.epoch = fence.epoch and l.term = fence.term and not l.released
     and l.last_seq + events = fence.last_seq and l.next_job_no <= fence.next_job_no;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform millrace.refuse('the counters do not follow on those that are stored');
  end if;
  return shard;
end $$;

create function millrace.insert_jobs(
  shard smallint, log_from bigint, no bigint[], id text[], name text[], priority smallint[],
  idempotency_key text[], max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[],
  created_at timestamptz[], state smallint[], run integer[], task_count integer[], stopping text[],
  error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, log_from, no, id, name, priority, idempotency_key, max_parallel, on_failure,
      total_ms, schedule_id, created_at, state, run, task_count, stopping, error_code, error_message, started_at,
      finished_at)
    select
      shard, log_from, unnest(no), unnest(id), unnest(name), unnest(priority), unnest(idempotency_key),
      unnest(max_parallel), unnest(on_failure), unnest(total_ms), unnest(schedule_id), unnest(created_at),
      unnest(state), unnest(run), unnest(task_count), unnest(stopping), unnest(error_code),
      unnest(error_message), unnest(started_at), unnest(finished_at);
  insert into millrace.job_live (shard, no, priority)
    select shard, u.no, u.priority from (
      select unnest(no) as no, unnest(priority) as priority, unnest(finished_at) as finished_at) u
    where u.finished_at is null;
  return shard;
end $$;

-- A job that has ended lives again in a new run only, so in the first one nobody has to look.
create function millrace.update_jobs(
  shard smallint, log_to bigint, no bigint[], state smallint[], run integer[], task_count integer[],
  stopping text[], error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  merge into millrace.job j
    using (select
      unnest(no) as no, unnest(state) as state, unnest(run) as run, unnest(task_count) as task_count,
      unnest(stopping) as stopping, unnest(error_code) as error_code,
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

create function millrace.insert_events(
  shard smallint, first_seq bigint[], last_seq bigint[], at timestamptz[], job_min bigint[], job_max bigint[],
  body text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if first_seq is null then return shard; end if;
  insert into millrace.event_chunk (shard, first_seq, last_seq, at, job_min, job_max, body)
    select
      shard, unnest(first_seq), unnest(last_seq), unnest(at), unnest(job_min), unnest(job_max), unnest(body);
  return shard;
end $$;

-- Events below `first_seq` are no longer shown; a chunk goes when all of it is below.
create function millrace.forget_events(shard smallint, first_seq bigint) returns bigint language plpgsql as $$
declare
  before bigint;
begin
  select l.first_seq into before from millrace.leader l where l.shard = forget_events.shard;
  if first_seq is null or first_seq <= before then return 0; end if;
  update millrace.leader l set first_seq = forget_events.first_seq where l.shard = forget_events.shard;
  delete from millrace.event_chunk c where c.shard = forget_events.shard and c.last_seq < forget_events.first_seq;
  return first_seq - before;
end $$;
