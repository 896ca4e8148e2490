create or replace function millrace.old_jobs(shard smallint, cutoff timestamptz, max_jobs integer)
returns table (no bigint, task_count integer)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select j.no, j.task_count from millrace.job j
    where j.shard = old_jobs.shard and j.finished_at < cutoff limit max_jobs;
end $$;
