-- Durable waiting: signals, what a suspended task waits for, the template of a job's own result, and the
-- record of handlers that complete in transactions of their own.

alter table millrace.job add column output text;

-- The same column at the same place in both: a row is copied to the history as it is.
alter table millrace.task add column waits text;
alter table millrace.task_history add column waits text;
alter table millrace.task
  drop constraint task_suspended,
  add constraint task_suspended check (suspended in ('time', 'children', 'signal', 'job'));
alter table millrace.task_history
  drop constraint task_suspended,
  add constraint task_suspended check (suspended in ('time', 'children', 'signal', 'job'));

-- What somebody told a job. Kept after it was taken, so that a repeated id is known.
create table millrace.signal (
  shard smallint not null,
  taken boolean not null,
  no integer not null check (no >= 0),
  job_no bigint not null,
  sent_at timestamptz not null,
  id text collate "C" not null,
  name text not null,
  body text not null,
  primary key (shard, job_no, no),
  constraint signal_id unique (id, job_no, shard)
) with (fillfactor = 80);

-- Handlers write this one themselves, in the transaction that does their work: that both are there, or
-- neither, is what makes the work happen once. `job` and `task` are ids, `result` is JSON text. A handler's
-- role needs the right to insert and select here, and to use the schema.
create table millrace.completion (
  job text collate "C" not null,
  task text collate "C" not null,
  run integer not null,
  result text,
  completed_at timestamptz not null default now(),
  primary key (job, task, run)
);

-- For pruning by age: rows lie in the order of their time.
create index completion_completed_at on millrace.completion using brin (completed_at) with (autosummarize = on);

drop function millrace.insert_jobs;
drop function millrace.insert_tasks;
drop function millrace.update_tasks;

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

create function millrace.insert_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], waits text[], not_before timestamptz[], progress double precision[],
  error_code text[], error_message text[], queued_at timestamptz[], started_at timestamptz[],
  finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task (shard, job_no, task_no, state, run, attempt, failures, losses, fence, term, node_id,
      session_id, stopping, suspended, waits, not_before, progress, error_code, error_message, queued_at,
      started_at, finished_at)
    select
      shard, unnest(job_no), unnest(task_no), unnest(state), unnest(run), unnest(attempt), unnest(failures),
      unnest(losses), unnest(fence), unnest(term), unnest(node_id), unnest(session_id), unnest(stopping),
      unnest(suspended), unnest(waits), unnest(not_before), unnest(progress), unnest(error_code),
      unnest(error_message), unnest(queued_at), unnest(started_at), unnest(finished_at);
  return shard;
end $$;

create function millrace.update_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], waits text[], not_before timestamptz[], progress double precision[],
  error_code text[], error_message text[], queued_at timestamptz[], started_at timestamptz[],
  finished_at timestamptz[]
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
      unnest(waits) as waits, unnest(not_before) as not_before, unnest(progress) as progress,
      unnest(error_code) as error_code, unnest(error_message) as error_message,
      unnest(queued_at) as queued_at, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) as u
    on t.shard = update_tasks.shard and t.job_no = u.job_no and t.task_no = u.task_no
    when matched then update
      set state = u.state, run = u.run, attempt = u.attempt, failures = u.failures, losses = u.losses,
          fence = u.fence, term = u.term, node_id = u.node_id, session_id = u.session_id,
          stopping = u.stopping, suspended = u.suspended, waits = u.waits, not_before = u.not_before,
          progress = u.progress, error_code = u.error_code, error_message = u.error_message,
          queued_at = u.queued_at, started_at = u.started_at, finished_at = u.finished_at
    when not matched then
      insert (shard) values (millrace.refuse(format('there is no task %s/%s', u.job_no, u.task_no)));
  return shard;
end $$;

create function millrace.insert_signals(
  shard smallint, job_no bigint[], no integer[], id text[], name text[], body text[], sent_at timestamptz[],
  taken boolean[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  missing bigint;
begin
  if job_no is null then return shard; end if;
  select u.job_no into missing from unnest(job_no) as u(job_no)
    where not exists (select from millrace.job j where j.shard = insert_signals.shard and j.no = u.job_no offset 0)
    limit 1;
  if found then perform millrace.refuse(format('there is no job %s', missing)); end if;
  insert into millrace.signal (shard, job_no, no, id, name, body, sent_at, taken)
    select
      shard, unnest(job_no), unnest(no), unnest(id), unnest(name), unnest(body), unnest(sent_at), unnest(taken);
  return shard;
end $$;

-- Each signal reaches one wait: one that is not there or was taken already is refused. The bodies never leave
-- the server. A step of that name that is there already stays as it is.
create function millrace.take_signals(
  shard smallint, job_no bigint[], signal_no integer[], task_no integer[], run integer[], step text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  merge into millrace.signal s
    using (select unnest(job_no) as job_no, unnest(signal_no) as no) as u
    on s.shard = take_signals.shard and s.job_no = u.job_no and s.no = u.no
    when matched and s.taken then
      update set taken = millrace.refuse(format('signal %s of job %s was taken already', u.no, u.job_no)) = 0
    when matched then update set taken = true
    when not matched then
      insert (shard) values (millrace.refuse(format('job %s has no signal %s', u.job_no, u.no)));
  insert into millrace.task_step (shard, job_no, task_no, run, name, body)
    select shard, c.job_no, c.task_no, c.run, c.step, c.body from (
      select u.job_no, u.task_no, u.run, u.step, s.body
        from unnest(job_no, signal_no, task_no, run, step) as u(job_no, signal_no, task_no, run, step)
        left join millrace.signal s
          on s.shard = take_signals.shard and s.job_no = u.job_no and s.no = u.signal_no
        offset 0 -- keeps the outer join, and with it the plan
    ) c
    on conflict do nothing;
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
    delete from millrace.signal t where t.shard = prune.shard and t.job_no = any (gone);
  end if;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;

-- Completions of before `cutoff`, by their block ranges, which are read as bitmaps. Those of a live job stay
-- however old they are: its task may be run again, and must learn that the work is done.
create function millrace.old_completions(cutoff timestamptz, max_rows integer)
returns table (job text, task text, run integer)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select c.job, c.task, c.run from millrace.completion c
    where c.completed_at < cutoff and not millrace.is_live(c.job) limit max_rows;
end $$;

create function millrace.is_live(id text) returns boolean stable language sql as $$
  select exists (select from millrace.job j where j.id = is_live.id and j.finished_at is null)
$$;

create function millrace.forget_completions(job text[], task text[], run integer[]) returns bigint
language plpgsql as $$
#variable_conflict use_variable
declare
  gone bigint := 0;
begin
  if job is null then return gone; end if;
  merge into millrace.completion c
    using (select unnest(job) as job, unnest(task) as task, unnest(run) as run) as u
    on c.job = u.job and c.task = u.task and c.run = u.run
    when matched and not millrace.is_live(c.job) then delete
    when not matched then do nothing; -- for the outer join, see migration 0002
  get diagnostics gone = row_count;
  return gone;
end $$;
