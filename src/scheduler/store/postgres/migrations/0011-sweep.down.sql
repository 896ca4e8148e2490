-- What was not swept yet goes at once.
delete from millrace.task_result t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;
delete from millrace.task_step t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;
delete from millrace.signal t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;
delete from millrace.task_spec t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;
delete from millrace.task_history t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;
delete from millrace.task t using millrace.pruned_job p where t.shard = p.shard and t.job_no = p.no;

drop function millrace.sweep;
drop function millrace.old_jobs;
create function millrace.old_jobs(shard smallint, cutoff timestamptz, max_jobs integer)
returns table (no bigint, task_count integer)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select j.no, j.task_count from millrace.job j
    where j.shard = old_jobs.shard and j.finished_at < cutoff
      and not (position('.' in j.id) > 0 and millrace.is_live(regexp_replace(j.id, '[.][^.]*$', '')))
    limit max_jobs;
end $$;

create or replace function millrace.prune(
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
    delete from millrace.signal t where t.shard = prune.shard and t.job_no = any (gone);
  end if;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;

drop table millrace.pruned_job;
