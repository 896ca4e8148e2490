drop function millrace.insert_jobs;

create function millrace.insert_jobs(
  shard smallint, log_from bigint, no bigint[], id text[], name text[], priority smallint[],
  idempotency_key text[], max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[],
  output text[], created_at timestamptz[], state smallint[], run integer[], task_count integer[],
  stopping text[], error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, log_from, no, id, name, priority, idempotency_key, max_parallel, on_failure,
      total_ms, schedule_id, output, created_at, state, run, task_count, stopping, error_code, error_message,
      started_at, finished_at)
    select
      shard, log_from, unnest(no), unnest(id), unnest(name), unnest(priority), unnest(idempotency_key),
      unnest(max_parallel), unnest(on_failure), unnest(total_ms), unnest(schedule_id), unnest(output),
      unnest(created_at), unnest(state), unnest(run), unnest(task_count), unnest(stopping),
      unnest(error_code), unnest(error_message), unnest(started_at), unnest(finished_at);
  insert into millrace.job_live (shard, no, priority)
    select shard, u.no, u.priority from (
      select unnest(no) as no, unnest(priority) as priority, unnest(finished_at) as finished_at) u
    where u.finished_at is null;
  return shard;
end $$;

create or replace function millrace.prune(
  in shard smallint, in epoch bigint, in term text,
  in job_no bigint[], in jobs_before timestamptz,
  in scope text[], in first_seq bigint,
  out jobs integer, out keys integer, out events bigint
) language plpgsql as $$
#variable_conflict use_variable
begin
  perform millrace.check_reign(shard, epoch, term);

  with deleted as (
    delete from millrace.job j
     where j.shard = prune.shard and j.no = any (job_no) and j.finished_at < jobs_before
    returning j.no
  )
  insert into millrace.pruned_job select prune.shard, d.no from deleted d;
  get diagnostics jobs = row_count;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;

drop table millrace.job_label;
alter table millrace.job drop column options;
alter table millrace.job drop column run_at;
alter table millrace.job drop column labels;
