-- A task that waits for a signal or a job would wait for ever in a version that knows neither: it goes on when
-- its time is up, or at once, and its handler finds the steps that are there.
update millrace.task
   set suspended = 'time', state = case state when 0 then 1 else state end,
       queued_at = case state when 0 then now() else queued_at end
 where suspended in ('signal', 'job');
update millrace.task_history set suspended = 'time' where suspended = 'job';

drop function millrace.forget_completions(text[], text[], integer[]);
drop function millrace.old_completions(timestamptz, integer);
drop function millrace.is_live(text);
drop function millrace.take_signals;
drop function millrace.insert_signals;
drop function millrace.update_tasks;
drop function millrace.insert_tasks;
drop function millrace.insert_jobs;
drop table millrace.completion, millrace.signal;

alter table millrace.task
  drop constraint task_suspended,
  add constraint task_suspended check (suspended in ('time', 'children', 'signal')),
  drop column waits;
alter table millrace.task_history
  drop constraint task_suspended,
  add constraint task_suspended check (suspended in ('time', 'children', 'signal')),
  drop column waits;
alter table millrace.job drop column output;

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

create function millrace.insert_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], not_before timestamptz[], progress double precision[], error_code text[],
  error_message text[], queued_at timestamptz[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task (shard, job_no, task_no, state, run, attempt, failures, losses, fence, term, node_id,
      session_id, stopping, suspended, not_before, progress, error_code, error_message, queued_at, started_at,
      finished_at)
    select
      shard, unnest(job_no), unnest(task_no), unnest(state), unnest(run), unnest(attempt), unnest(failures),
      unnest(losses), unnest(fence), unnest(term), unnest(node_id), unnest(session_id), unnest(stopping),
      unnest(suspended), unnest(not_before), unnest(progress), unnest(error_code), unnest(error_message),
      unnest(queued_at), unnest(started_at), unnest(finished_at);
  return shard;
end $$;

create function millrace.update_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], not_before timestamptz[], progress double precision[], error_code text[],
  error_message text[], queued_at timestamptz[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  merge into millrace.task t
    using (select
      unnest(job_no) as job_no, unnest(task_no) as task_no, unnest(state) as state, unnest(run) as run,
      unnest(attempt) as attempt, unnest(failures) as failures, unnest(losses) as losses,
      unnest(fence) as fence, unnest(term) as term, unnest(node_id) as node_id,
      unnest(session_id) as session_id, unnest(stopping) as stopping, unnest(suspended) as suspended,
      unnest(not_before) as not_before, unnest(progress) as progress, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(queued_at) as queued_at,
      unnest(started_at) as started_at, unnest(finished_at) as finished_at) as u
    on t.shard = update_tasks.shard and t.job_no = u.job_no and t.task_no = u.task_no
    when matched then update
      set state = u.state, run = u.run, attempt = u.attempt, failures = u.failures, losses = u.losses,
          fence = u.fence, term = u.term, node_id = u.node_id, session_id = u.session_id,
          stopping = u.stopping, suspended = u.suspended, not_before = u.not_before, progress = u.progress,
          error_code = u.error_code, error_message = u.error_message, queued_at = u.queued_at,
          started_at = u.started_at, finished_at = u.finished_at
    when not matched then
      insert (shard) values (millrace.refuse(format('there is no task %s/%s', u.job_no, u.task_no)));
  return shard;
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
  end if;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;
