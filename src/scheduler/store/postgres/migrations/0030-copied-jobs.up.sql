-- The rows of new jobs come by COPY: to make rows of an array for each column took PostgreSQL more than twice as long. What else
-- a new job has is inserted here.
drop function millrace.insert_jobs;

-- Null in place of what most jobs have: no labels, and that they go on after a failure.
alter table millrace.job
  alter column labels drop not null,
  alter column labels drop default,
  alter column on_failure drop not null;

-- As in 0018.
create or replace view millrace.jobs as
  select j.id, j.name,
      (array['queued', 'running', 'succeeded', 'failed', 'cancelled'])[j.state + 1] as state,
      j.run, j.priority, j.task_count as tasks, coalesce(j.labels, '{}') as labels, j.idempotency_key, j.schedule_id, j.error_code,
      j.error_message, j.created_at, j.run_at, j.started_at, j.finished_at
    from millrace.job j;

create function millrace.insert_live(shard smallint, no bigint[], priority smallint[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job_live (shard, no, priority) select shard, unnest(no), unnest(priority);
  return shard;
end $$;

create function millrace.insert_labels(shard smallint, job_no bigint[], label text[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.job_label (shard, job_no, label) select shard, unnest(job_no), unnest(label);
  return shard;
end $$;
