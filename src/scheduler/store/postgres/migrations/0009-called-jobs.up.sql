-- A job that another one has called answers its caller each time the caller is run again, so it stays until
-- that has ended. The id of a called job is that of its caller, a dot, and a name without one.
create or replace function millrace.old_jobs(shard smallint, cutoff timestamptz, max_jobs integer)
returns table (no bigint, task_count integer)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select j.no, j.task_count from millrace.job j
    where j.shard = old_jobs.shard and j.finished_at < cutoff
      and not (position('.' in j.id) > 0 and millrace.is_live(regexp_replace(j.id, '[.][^.]*$', '')))
    limit max_jobs;
end $$;
