drop function millrace.forget_events(smallint, bigint);
drop function millrace.insert_events;
drop function millrace.insert_jobs;
drop function millrace.update_jobs;
drop function millrace.fence;
alter table millrace.leader add column event_limit bigint not null default 0;
alter table millrace.job drop column log_from, drop column log_to;

create table millrace.event (
  shard smallint not null,
  kind smallint not null,
  task_no integer,
  seq bigint not null,
  at timestamptz not null,
  job_no bigint,
  fence bigint,
  run integer,
  attempt integer,
  node_id text,
  detail text,
  primary key (shard, seq),
  constraint event_counts check (least(kind, run, attempt, fence) >= 0)
) partition by range (shard, seq);

create index event_job on millrace.event (job_no, seq) where job_no is not null;

create table millrace.event_part (
  shard smallint not null,
  first_seq bigint not null,
  next_seq bigint not null,
  made_at timestamptz not null default now(),
  name text not null,
  primary key (shard, first_seq)
);

create function millrace.fence(
  shard smallint, epoch bigint, term text, ttl_ms bigint, last_seq bigint, events integer, next_job_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  event_limit bigint;
begin
  update millrace.leader l
     set last_seq = fence.last_seq, next_job_no = fence.next_job_no,
         expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = fence.shard and l.epoch = fence.epoch and l.term = fence.term and not l.released
     and l.last_seq + events = fence.last_seq and l.next_job_no <= fence.next_job_no
  returning l.event_limit into event_limit;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform millrace.refuse('the counters do not follow on those that are stored');
  end if;
  if last_seq >= event_limit then
    perform millrace.extend_events(shard, last_seq);
  end if;
  return shard;
end $$;

-- Makes partitions until one lies whole ahead of `last_seq`. Their size follows the rate: doubled when
-- the last one was filled within an hour, halved when it took more than a day, so that a quiet log is
-- dropped in small parts and a busy one does not grow thousands of tables. Attaching takes a lock
-- that readers and writers do not feel; creating a partition in place would wait for every reader.
create function millrace.extend_events(shard smallint, last_seq bigint) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  tail millrace.event_part;
  first_seq bigint;
  size bigint;
  name text;
begin
  loop
    select p.* into tail from millrace.event_part p
      where p.shard = extend_events.shard order by p.first_seq desc limit 1;
    exit when tail.first_seq > greatest(last_seq, 1);
    size := tail.next_seq - tail.first_seq;
    size := case
      when size is null then 65536
      when tail.made_at > now() - interval '1 hour' then least(size * 2, 16777216)
      when tail.made_at < now() - interval '1 day' then greatest(size / 2, 65536)
      else size
    end;
    first_seq := coalesce(tail.next_seq, 1);
    perform millrace.make_events(shard, first_seq, first_seq + size);
  end loop;
  update millrace.leader l set event_limit = tail.first_seq where l.shard = extend_events.shard;
end $$;

create function millrace.make_events(shard smallint, first_seq bigint, next_seq bigint) returns void
language plpgsql as $$
declare
  name text := format('event_%s_%s', shard, first_seq);
begin
  execute format('create table millrace.%I (like millrace.event including all)', name);
  execute format('alter table millrace.event attach partition millrace.%I for values from (%s, %s) to (%s, %s)',
    name, shard, first_seq, shard, next_seq);
  insert into millrace.event_part (shard, first_seq, next_seq, name)
    values (shard, first_seq, next_seq, name);
end $$;

create function millrace.insert_jobs(
  shard smallint, no bigint[], id text[], name text[], priority smallint[], idempotency_key text[],
  max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[], created_at timestamptz[],
  state smallint[], run integer[], task_count integer[], stopping text[], error_code text[],
  error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, no, id, name, priority, idempotency_key, max_parallel, on_failure, total_ms,
      schedule_id, created_at, state, run, task_count, stopping, error_code, error_message, started_at, finished_at)
    select
      shard, unnest(no), unnest(id), unnest(name), unnest(priority), unnest(idempotency_key),
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
  shard smallint, no bigint[], state smallint[], run integer[], task_count integer[], stopping text[],
  error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
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
          started_at = u.started_at, finished_at = u.finished_at
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
  shard smallint, seq bigint[], at timestamptz[], kind smallint[], job_no bigint[], task_no integer[],
  node_id text[], run integer[], attempt integer[], fence bigint[], detail text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if seq is null then return shard; end if;
  insert into millrace.event (shard, seq, at, kind, job_no, task_no, node_id, run, attempt, fence, detail)
    select
      shard, unnest(seq), unnest(at), unnest(kind), unnest(job_no), unnest(task_no), unnest(node_id),
      unnest(run), unnest(attempt), unnest(fence), unnest(detail);
  return shard;
end $$;

-- The first event at or after `cutoff`, by halving: numbers and times grow together.
create function millrace.first_event_since(shard smallint, cutoff timestamptz) returns bigint
stable language plpgsql as $$
declare
  low bigint;
  high bigint;
  middle bigint;
begin
  select l.first_seq, l.last_seq + 1 into low, high from millrace.leader l
    where l.shard = first_event_since.shard;
  while low < high loop
    middle := low + (high - low) / 2;
    if (select e.at < cutoff from millrace.event e where e.shard = first_event_since.shard and e.seq = middle) then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;

-- Events below `first_seq` are no longer shown at once; their room is given back by the partition.
create function millrace.forget_events(shard smallint, first_seq bigint) returns bigint language plpgsql as $$
declare
  before bigint;
  part record;
begin
  select l.first_seq into before from millrace.leader l where l.shard = forget_events.shard;
  if first_seq > before then
    update millrace.leader l set first_seq = forget_events.first_seq where l.shard = forget_events.shard;
  end if;
  -- A reader of the log, a backup for example, may hold on to it for hours. Whoever waits for it makes all
  -- others wait as well, so this does not wait for long: the next call tries again.
  perform set_config('lock_timeout', '200ms', true);
  for part in
    select p.name, p.first_seq from millrace.event_part p
     where p.shard = forget_events.shard and p.next_seq <= greatest(before, forget_events.first_seq)
     order by p.first_seq
  loop
    execute format('drop table millrace.%I', part.name);
    delete from millrace.event_part p where p.shard = forget_events.shard and p.first_seq = part.first_seq;
  end loop;
  return greatest(first_seq - before, 0);
exception
  when lock_not_available then
    update millrace.leader l set first_seq = greatest(l.first_seq, forget_events.first_seq)
      where l.shard = forget_events.shard;
    return greatest(first_seq - before, 0);
end $$;

-- One partition takes what there is; the next commit makes those that follow it.
select millrace.make_events(l.shard, 1, l.last_seq + 1) from millrace.leader l where l.last_seq > 0;

-- A column of a chunk, one value a row; null inside JSON becomes null.
create function millrace.chunk_column(body jsonb, place integer, size integer) returns setof text
language sql as $$
  select case jsonb_typeof(body -> place) when 'array' then body -> place ->> at else body ->> place end
    from generate_series(0, size - 1) at
$$;

insert into millrace.event (shard, seq, at, kind, job_no, task_no, node_id, run, attempt, fence, detail)
  select c.shard, c.first_seq + e.place - 1, c.at - e.age::bigint * interval '1 millisecond', e.kind::smallint,
         c.job_min + e.job::bigint, e.task::integer, e.node, e.run::integer, e.attempt::integer, e.fence::bigint,
         e.detail
    from millrace.event_chunk c
    join millrace.leader l on l.shard = c.shard,
    rows from (
      millrace.chunk_column(c.body::jsonb, 0, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 1, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 2, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 3, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 4, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 5, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 6, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 7, (c.last_seq - c.first_seq + 1)::integer),
      millrace.chunk_column(c.body::jsonb, 8, (c.last_seq - c.first_seq + 1)::integer)
    ) with ordinality as e(kind, age, job, task, node, run, attempt, fence, detail, place)
   where c.first_seq + e.place - 1 >= l.first_seq;

drop function millrace.chunk_column;
drop table millrace.event_chunk;
