-- What is old is looked for beforehand and without the fence, so that commits wait for no search.
-- Here it goes, by key, and what has come back to life in between stays.
create function millrace.prune(
  in shard smallint, in epoch bigint, in term text,
  in job_no bigint[], in jobs_before timestamptz,
  in scope text[], in first_seq bigint,
  out jobs integer, out keys integer, out events bigint
) language plpgsql as $$
#variable_conflict use_variable
declare
  gone bigint[];
begin
  perform millrace.check_reign(shard, epoch, term);

  with deleted as (
    delete from millrace.job j
     where j.shard = prune.shard and j.no = any (job_no) and j.finished_at < jobs_before
    returning j.no
  )
  select array_agg(d.no) into gone from deleted d;
  jobs := coalesce(cardinality(gone), 0);
  if jobs > 0 then
    delete from millrace.task t where t.shard = prune.shard and t.job_no = any (gone);
    delete from millrace.task_spec t where t.shard = prune.shard and t.job_no = any (gone);
    delete from millrace.task_result t where t.shard = prune.shard and t.job_no = any (gone);
    delete from millrace.task_history t where t.shard = prune.shard and t.job_no = any (gone);
    delete from millrace.task_step t where t.shard = prune.shard and t.job_no = any (gone);
  end if;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;

-- Jobs that ended before `cutoff`, by their block ranges, which are read as bitmaps.
create function millrace.old_jobs(shard smallint, cutoff timestamptz, max_jobs integer)
returns table (no bigint, task_count integer)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select j.no, j.task_count from millrace.job j
    where j.shard = old_jobs.shard and j.finished_at < cutoff limit max_jobs;
end $$;

-- Whether a task of a live job names the key: it may still wait for it, or copy its result.
create function millrace.is_named(shard smallint, scope text) returns boolean stable language sql as $$
  select exists (
    select from millrace.task_spec s
      join millrace.job j on j.shard = s.shard and j.no = s.job_no and j.finished_at is null
     where s.shard = is_named.shard and s.idempotency_key is not null
       and (s.executor || '/' || s.idempotency_key) collate "C" = is_named.scope
  )
$$;

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
