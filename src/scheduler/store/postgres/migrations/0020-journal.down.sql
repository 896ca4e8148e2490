-- Older builds know nothing of a journal: `millrace migrate down` folds it first.
do $$
begin
  perform from millrace.journal j left join millrace.journal_fold f on f.shard = j.shard
    where j.commit_no > coalesce(f.commit_no, 0);
  if found then
    raise exception 'the journal has commits that are not in the tables; run `millrace migrate down`, which folds them';
  end if;
end $$;

drop function millrace.insert_jobs;
drop function millrace.insert_history;
drop function millrace.trim_journal;
drop function millrace.begin_fold;
drop function millrace.append;
drop function millrace.check_names;
drop table millrace.journal_fold;
drop view millrace.journal;
drop table millrace.journal_0, millrace.journal_1;
alter table millrace.job set (fillfactor = 40);
alter table millrace.task set (fillfactor = 22);

create function millrace.insert_jobs(
  shard smallint, log_from bigint, no bigint[], id text[], name text[], priority smallint[],
  idempotency_key text[], max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[],
  output text[], labels text[], run_at timestamptz[], options text[], created_at timestamptz[], state smallint[],
  run integer[], task_count integer[], stopping text[], error_code text[], error_message text[],
  started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, log_from, no, id, name, priority, idempotency_key, max_parallel, on_failure,
      total_ms, schedule_id, output, labels, run_at, options, created_at, state, run, task_count, stopping,
      error_code, error_message, started_at, finished_at)
    select
      shard, log_from, unnest(no), unnest(id), unnest(name), unnest(priority), unnest(idempotency_key),
      unnest(max_parallel), unnest(on_failure), unnest(total_ms), unnest(schedule_id), unnest(output),
      unnest(labels)::text[], unnest(run_at), unnest(options), unnest(created_at), unnest(state), unnest(run),
      unnest(task_count), unnest(stopping), unnest(error_code), unnest(error_message), unnest(started_at),
      unnest(finished_at);
  insert into millrace.job_live (shard, no, priority)
    select shard, u.no, u.priority from (
      select unnest(no) as no, unnest(priority) as priority, unnest(finished_at) as finished_at) u
    where u.finished_at is null;
  insert into millrace.job_label (shard, job_no, label)
    select shard, u.no, unnest(u.labels::text[]) from (
      select unnest(no) as no, unnest(labels) as labels) u
    where u.labels <> '{}';
  return shard;
end $$;
