-- The task of a job that has no other is in the row of the job: one row in place of four, and two index entries in place of
-- six. Its columns are null in jobs whose tasks are in the tables: those with more tasks, with several runs, with long
-- inputs, or of before. Zeros are null as well, and so is a priority that is the job's. A task that has ended, has ended
-- with its job. What never changes stands at the end: the log has only the bytes of an update up to there. Whoever reads tasks
-- reads the views that show both; by key and in a subquery with `offset 0`, for the conditions of a join do not reach there.
alter table millrace.job
  add column task_fence bigint,
  add column task_progress double precision,
  add column task_not_before timestamptz,
  add column task_queued_at timestamptz,
  add column task_started_at timestamptz,
  add column task_attempt integer,
  add column task_failures integer,
  add column task_losses integer,
  add column task_state smallint,
  add column task_priority smallint,
  add column task_term text,
  add column task_node_id text,
  add column task_session_id text,
  add column task_stopping text,
  add column task_suspended text,
  add column task_waits text,
  add column task_error_code text,
  add column task_error_message text,
  add column task_result text,
  add column task_id text collate "C",
  add column task_executor text,
  add column task_options text,
  add column task_input text;

-- Two images of a job fit on its page, the second one with what its task has brought.
alter table millrace.job set (fillfactor = 42);

create view millrace.any_spec as
  select s.shard, s.priority, s.task_no, s.job_no, s.parent_no, s.id, s.executor, s.depends_on, s.idempotency_key,
      s.options, s.input
    from millrace.task_spec s
  union all
  select j.shard, coalesce(j.task_priority, j.priority), 0, j.no, null::integer, j.task_id, j.task_executor,
      '{}'::integer[], null::text, j.task_options, j.task_input
    from millrace.job j where j.task_state is not null;

create view millrace.any_task as
  select t.shard, t.state, t.task_no, t.job_no, t.run, t.attempt, t.failures, t.losses, t.fence, t.progress,
      t.not_before, t.queued_at, t.started_at, t.finished_at, t.term, t.node_id, t.session_id, t.stopping, t.suspended,
      t.error_code, t.error_message, t.waits
    from millrace.task t
  union all
  select j.shard, j.task_state, 0, j.no, 1, coalesce(j.task_attempt, 0), coalesce(j.task_failures, 0),
      coalesce(j.task_losses, 0), coalesce(j.task_fence, 0), coalesce(j.task_progress, 0), j.task_not_before,
      j.task_queued_at, j.task_started_at, case when j.task_state >= 4 then j.finished_at end, j.task_term,
      j.task_node_id, j.task_session_id, j.task_stopping, j.task_suspended, j.task_error_code, j.task_error_message,
      j.task_waits
    from millrace.job j where j.task_state is not null;

create view millrace.any_result as
  select r.shard, r.task_no, r.job_no, r.run, r.body from millrace.task_result r
  union all
  select j.shard, 0, j.no, 1, j.task_result from millrace.job j where j.task_result is not null;

-- Tasks leave the rows of their jobs: they get company, or a second run. A MERGE that inserts has an outer join, which fixes the
-- plan (see 0002); one that only may do nothing has not (seen: each update scanned all tasks).
create function millrace.spread_tasks(shard smallint, no bigint[]) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  held bigint[];
begin
  if no is null then return shard; end if;
  held := array(
    select j.no from unnest(no) as u(no) cross join lateral (
      select x.no from millrace.job x
       where x.shard = spread_tasks.shard and x.no = u.no and x.task_state is not null offset 0) j);
  if held = '{}' then return shard; end if;
  insert into millrace.task_spec (shard, priority, task_no, job_no, parent_no, id, executor, depends_on,
      idempotency_key, options, input)
    select s.* from unnest(held) as u(no) cross join lateral (
      select * from millrace.any_spec x where x.shard = spread_tasks.shard and x.job_no = u.no offset 0) s;
  insert into millrace.task (shard, state, task_no, job_no, run, attempt, failures, losses, fence, progress,
      not_before, queued_at, started_at, finished_at, term, node_id, session_id, stopping, suspended, error_code,
      error_message, waits)
    select t.* from unnest(held) as u(no) cross join lateral (
      select * from millrace.any_task x where x.shard = spread_tasks.shard and x.job_no = u.no offset 0) t;
  insert into millrace.task_result (shard, task_no, job_no, run, body)
    select r.shard, 0, r.no, 1, r.task_result from unnest(held) as u(no) cross join lateral (
      select * from millrace.job x
       where x.shard = spread_tasks.shard and x.no = u.no and x.task_result is not null offset 0) r;
  merge into millrace.job j using (select unnest(held) as no) as u
    on j.shard = spread_tasks.shard and j.no = u.no
    when matched then update set
      task_id = null, task_executor = null, task_priority = null, task_options = null, task_input = null,
      task_state = null, task_attempt = null, task_failures = null, task_losses = null, task_fence = null,
      task_term = null, task_node_id = null, task_session_id = null, task_stopping = null, task_suspended = null,
      task_waits = null, task_not_before = null, task_progress = null, task_error_code = null,
      task_error_message = null, task_queued_at = null, task_started_at = null, task_result = null
    when not matched and false then insert (shard) values (0); -- for the outer join
  return shard;
end $$;

drop function millrace.insert_jobs;
drop function millrace.update_jobs;

-- As in 0020, with the only task of a job.
create function millrace.insert_jobs(
  shard smallint, log_from bigint, log_to bigint, no bigint[], id text[], name text[], priority smallint[],
  idempotency_key text[], max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[],
  output text[], labels text[], run_at timestamptz[], options text[], created_at timestamptz[], state smallint[],
  run integer[], task_count integer[], stopping text[], error_code text[], error_message text[],
  started_at timestamptz[], finished_at timestamptz[], task_id text[], task_executor text[], task_priority smallint[],
  task_options text[], task_input text[], task_state smallint[], task_attempt integer[], task_failures integer[],
  task_losses integer[], task_fence bigint[], task_term text[], task_node_id text[], task_session_id text[],
  task_stopping text[], task_suspended text[], task_waits text[], task_not_before timestamptz[],
  task_progress double precision[], task_error_code text[], task_error_message text[], task_queued_at timestamptz[],
  task_started_at timestamptz[], task_result text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (
      shard, log_from, log_to, no, id, name, priority, idempotency_key, max_parallel, on_failure, total_ms,
      schedule_id, output, labels, run_at, options, created_at, state, run, task_count, stopping, error_code,
      error_message, started_at, finished_at, task_id, task_executor, task_priority, task_options, task_input,
      task_state, task_attempt, task_failures, task_losses, task_fence, task_term, task_node_id, task_session_id,
      task_stopping, task_suspended, task_waits, task_not_before, task_progress, task_error_code, task_error_message,
      task_queued_at, task_started_at, task_result)
    select
      shard, log_from, case when u.finished_at is not null then log_to end, u.no, u.id, u.name, u.priority,
      u.idempotency_key, u.max_parallel, u.on_failure, u.total_ms, u.schedule_id, u.output, u.labels::text[],
      u.run_at, u.options, u.created_at, u.state, u.run, u.task_count, u.stopping, u.error_code, u.error_message,
      u.started_at, u.finished_at, u.task_id, u.task_executor, u.task_priority, u.task_options, u.task_input,
      u.task_state, u.task_attempt, u.task_failures, u.task_losses, u.task_fence, u.task_term, u.task_node_id,
      u.task_session_id, u.task_stopping, u.task_suspended, u.task_waits, u.task_not_before, u.task_progress,
      u.task_error_code, u.task_error_message, u.task_queued_at, u.task_started_at, u.task_result
    from (select
      unnest(no) as no, unnest(id) as id, unnest(name) as name, unnest(priority) as priority,
      unnest(idempotency_key) as idempotency_key, unnest(max_parallel) as max_parallel,
      unnest(on_failure) as on_failure, unnest(total_ms) as total_ms, unnest(schedule_id) as schedule_id,
      unnest(output) as output, unnest(labels) as labels, unnest(run_at) as run_at, unnest(options) as options,
      unnest(created_at) as created_at, unnest(state) as state, unnest(run) as run, unnest(task_count) as task_count,
      unnest(stopping) as stopping, unnest(error_code) as error_code, unnest(error_message) as error_message,
      unnest(started_at) as started_at, unnest(finished_at) as finished_at, unnest(task_id) as task_id,
      unnest(task_executor) as task_executor, unnest(task_priority) as task_priority,
      unnest(task_options) as task_options, unnest(task_input) as task_input, unnest(task_state) as task_state,
      unnest(task_attempt) as task_attempt, unnest(task_failures) as task_failures,
      unnest(task_losses) as task_losses, unnest(task_fence) as task_fence, unnest(task_term) as task_term,
      unnest(task_node_id) as task_node_id, unnest(task_session_id) as task_session_id,
      unnest(task_stopping) as task_stopping, unnest(task_suspended) as task_suspended,
      unnest(task_waits) as task_waits, unnest(task_not_before) as task_not_before,
      unnest(task_progress) as task_progress, unnest(task_error_code) as task_error_code,
      unnest(task_error_message) as task_error_message, unnest(task_queued_at) as task_queued_at,
      unnest(task_started_at) as task_started_at, unnest(task_result) as task_result) u;
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

-- As in 0023. A job may come with its only task, wherever that is.
create function millrace.update_jobs(
  shard smallint, log_to bigint, no bigint[], options text[], state smallint[], run integer[], task_count integer[],
  stopping text[], error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[],
  task_state smallint[],
  task_attempt integer[], task_failures integer[], task_losses integer[], task_fence bigint[], task_term text[],
  task_node_id text[], task_session_id text[], task_stopping text[], task_suspended text[], task_waits text[],
  task_not_before timestamptz[], task_progress double precision[], task_error_code text[], task_error_message text[],
  task_queued_at timestamptz[], task_started_at timestamptz[], task_result text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  merge into millrace.job j
    using (select
      unnest(no) as no, unnest(options) as options, unnest(state) as state, unnest(run) as run,
      unnest(task_count) as task_count,
      unnest(stopping) as stopping, unnest(error_code) as error_code, unnest(error_message) as error_message,
      unnest(started_at) as started_at, unnest(finished_at) as finished_at, unnest(task_state) as task_state,
      unnest(task_attempt) as task_attempt, unnest(task_failures) as task_failures,
      unnest(task_losses) as task_losses, unnest(task_fence) as task_fence, unnest(task_term) as task_term,
      unnest(task_node_id) as task_node_id, unnest(task_session_id) as task_session_id,
      unnest(task_stopping) as task_stopping, unnest(task_suspended) as task_suspended,
      unnest(task_waits) as task_waits, unnest(task_not_before) as task_not_before,
      unnest(task_progress) as task_progress, unnest(task_error_code) as task_error_code,
      unnest(task_error_message) as task_error_message, unnest(task_queued_at) as task_queued_at,
      unnest(task_started_at) as task_started_at, unnest(task_result) as task_result) as u
    on j.shard = update_jobs.shard and j.no = u.no
    when matched and u.task_state is not null and j.task_state is not null then update set
      options = u.options, state = u.state, run = u.run, task_count = u.task_count, stopping = u.stopping, error_code = u.error_code,
      error_message = u.error_message, started_at = u.started_at, finished_at = u.finished_at,
      log_to = case when u.finished_at is not null then update_jobs.log_to end, task_state = u.task_state,
      task_attempt = u.task_attempt, task_failures = u.task_failures, task_losses = u.task_losses,
      task_fence = u.task_fence, task_term = u.task_term, task_node_id = u.task_node_id,
      task_session_id = u.task_session_id, task_stopping = u.task_stopping, task_suspended = u.task_suspended,
      task_waits = u.task_waits, task_not_before = u.task_not_before, task_progress = u.task_progress,
      task_error_code = u.task_error_code, task_error_message = u.task_error_message,
      task_queued_at = u.task_queued_at, task_started_at = u.task_started_at,
      task_result = coalesce(u.task_result, j.task_result)
    when matched then update set
      options = u.options, state = u.state, run = u.run, task_count = u.task_count, stopping = u.stopping, error_code = u.error_code,
      error_message = u.error_message, started_at = u.started_at, finished_at = u.finished_at,
      log_to = case when u.finished_at is not null then update_jobs.log_to end
    when not matched then insert (shard) values (millrace.refuse(format('there is no job %s', u.no)));
  if exists (
    select from millrace.task t
     where t.shard = update_jobs.shard
       and t.job_no between (select min(u) from unnest(no) u) and (select max(u) from unnest(no) u)
  ) then
    merge into millrace.task t
      using (select
        unnest(no) as no, unnest(task_state) as task_state, unnest(task_attempt) as task_attempt,
        unnest(task_failures) as task_failures, unnest(task_losses) as task_losses, unnest(task_fence) as task_fence,
        unnest(task_term) as task_term, unnest(task_node_id) as task_node_id,
        unnest(task_session_id) as task_session_id, unnest(task_stopping) as task_stopping,
        unnest(task_suspended) as task_suspended, unnest(task_waits) as task_waits,
        unnest(task_not_before) as task_not_before, unnest(task_progress) as task_progress,
        unnest(task_error_code) as task_error_code, unnest(task_error_message) as task_error_message,
        unnest(task_queued_at) as task_queued_at, unnest(task_started_at) as task_started_at,
        unnest(task_result) as task_result, unnest(finished_at) as finished_at) as u
      on t.shard = update_jobs.shard and t.job_no = u.no and t.task_no = 0 and u.task_state is not null
      when matched then update set
        state = u.task_state, attempt = coalesce(u.task_attempt, 0), failures = coalesce(u.task_failures, 0),
        losses = coalesce(u.task_losses, 0), fence = coalesce(u.task_fence, 0), term = u.task_term,
        node_id = u.task_node_id, session_id = u.task_session_id, stopping = u.task_stopping,
        suspended = u.task_suspended, waits = u.task_waits, not_before = u.task_not_before,
        progress = coalesce(u.task_progress, 0), error_code = u.task_error_code, error_message = u.task_error_message,
        queued_at = u.task_queued_at, started_at = u.task_started_at,
        finished_at = case when u.task_state >= 4 then u.finished_at end
      when not matched and false then insert (shard) values (0); -- for the outer join
    insert into millrace.task_result (shard, job_no, task_no, run, body)
      select shard, u.no, 0, 1, u.body from (select unnest(no) as no, unnest(task_result) as body) u
       where u.body is not null and exists (
         select from millrace.task t where t.shard = update_jobs.shard and t.job_no = u.no and t.task_no = 0 offset 0);
  end if;
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

-- As in 0008. The first task may be in the row of its job.
create or replace function millrace.update_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], waits text[], not_before timestamptz[], progress double precision[],
  error_code text[], error_message text[], queued_at timestamptz[], started_at timestamptz[],
  finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  if 0 = any (task_no) then
    merge into millrace.job j
      using (select * from (select
        unnest(job_no) as job_no, unnest(task_no) as task_no, unnest(state) as state, unnest(attempt) as attempt,
        unnest(failures) as failures, unnest(losses) as losses, unnest(fence) as fence, unnest(term) as term,
        unnest(node_id) as node_id, unnest(session_id) as session_id, unnest(stopping) as stopping,
        unnest(suspended) as suspended, unnest(waits) as waits, unnest(not_before) as not_before,
        unnest(progress) as progress, unnest(error_code) as error_code, unnest(error_message) as error_message,
        unnest(queued_at) as queued_at, unnest(started_at) as started_at) v
        where v.task_no = 0) as u
      on j.shard = update_tasks.shard and j.no = u.job_no
      when matched and j.task_state is not null then update set
        task_state = u.state, task_attempt = nullif(u.attempt, 0), task_failures = nullif(u.failures, 0),
        task_losses = nullif(u.losses, 0), task_fence = nullif(u.fence, 0), task_term = u.term,
        task_node_id = u.node_id, task_session_id = u.session_id, task_stopping = u.stopping,
        task_suspended = u.suspended, task_waits = u.waits, task_not_before = u.not_before,
        task_progress = nullif(u.progress, 0), task_error_code = u.error_code, task_error_message = u.error_message,
        task_queued_at = u.queued_at, task_started_at = u.started_at
      when not matched and false then insert (shard) values (0); -- for the outer join
  end if;
  merge into millrace.task t
    using (select
      unnest(job_no) as job_no, unnest(task_no) as task_no, unnest(state) as state, unnest(run) as run,
      unnest(attempt) as attempt, unnest(failures) as failures, unnest(losses) as losses, unnest(fence) as fence,
      unnest(term) as term, unnest(node_id) as node_id, unnest(session_id) as session_id,
      unnest(stopping) as stopping, unnest(suspended) as suspended, unnest(waits) as waits,
      unnest(not_before) as not_before, unnest(progress) as progress, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(queued_at) as queued_at, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) as u
    on t.shard = update_tasks.shard and t.job_no = u.job_no and t.task_no = u.task_no
    when matched then update set
      state = u.state, run = u.run, attempt = u.attempt, failures = u.failures, losses = u.losses, fence = u.fence,
      term = u.term, node_id = u.node_id, session_id = u.session_id, stopping = u.stopping, suspended = u.suspended,
      waits = u.waits, not_before = u.not_before, progress = u.progress, error_code = u.error_code,
      error_message = u.error_message, queued_at = u.queued_at, started_at = u.started_at, finished_at = u.finished_at
    when not matched and u.task_no > 0 then
      insert (shard) values (millrace.refuse(format('there is no task %s/%s', u.job_no, u.task_no)));
  return shard;
end $$;

-- As in 0018, without a join for tasks that are in their job: the planner cannot look up by key what joins a view of both.
create or replace view millrace.tasks as
  select j.id as job, s.id as task,
      (array['blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'])[t.state + 1] as state,
      s.executor, t.run, t.attempt, t.failures, t.losses, t.fence, t.node_id as node, t.progress, t.error_code,
      t.error_message, t.queued_at, t.not_before, t.started_at, t.finished_at
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no
  union all
  select j.id, j.task_id,
      (array['blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'])[j.task_state + 1],
      j.task_executor, 1, coalesce(j.task_attempt, 0), coalesce(j.task_failures, 0), coalesce(j.task_losses, 0),
      coalesce(j.task_fence, 0), j.task_node_id, coalesce(j.task_progress, 0), j.task_error_code, j.task_error_message,
      j.task_queued_at, j.task_not_before, j.task_started_at, case when j.task_state >= 4 then j.finished_at end
    from millrace.job j where j.task_state is not null;

create or replace view millrace.leases as
  select j.id as job, s.id as task, t.node_id as node, t.attempt, t.fence, t.started_at as since,
      n.status as node_status, coalesce(n.session_id = t.session_id, false) as is_held
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no
    left join millrace.node n on n.shard = t.shard and n.id = t.node_id
   where t.state = 3
  union all
  select j.id, j.task_id, j.task_node_id, coalesce(j.task_attempt, 0), coalesce(j.task_fence, 0), j.task_started_at,
      n.status, coalesce(n.session_id = j.task_session_id, false)
    from millrace.job j
    left join millrace.node n on n.shard = j.shard and n.id = j.task_node_id
   where j.task_state = 3;

-- A column of a chunk with a value for each of its events. The text is read once for each column: to read it for each value
-- took a minute for 80,000 events.
create function millrace.event_cells(body json, place integer, events integer) returns text[]
immutable language sql as $$
  select case when json_typeof(body -> place) = 'array'
    then array(select json_array_elements_text(body -> place))
    else array_fill(body ->> place, array[events]) end
$$;

-- As in 0018.
create or replace view millrace.events as
  select c.first_seq + e.place - 1 as seq,
      c.at - e.ago::bigint * interval '1 millisecond' as at,
      millrace.event_kind(e.kind::integer) as event,
      j.id as job, case when e.task_no is not null then coalesce(s.id, j.task_id) end as task,
      e.node, e.run::integer as run, e.attempt::integer as attempt, e.fence::bigint as fence, e.detail,
      c.at as commit_at
    from (select x.shard, x.first_seq, x.at, x.job_min, x.body::json as columns,
            (x.last_seq - x.first_seq + 1)::integer as events from millrace.event_chunk x) c
    join millrace.leader l on l.shard = c.shard
    cross join lateral unnest(
      millrace.event_cells(c.columns, 0, c.events), millrace.event_cells(c.columns, 1, c.events),
      millrace.event_cells(c.columns, 2, c.events), millrace.event_cells(c.columns, 3, c.events),
      millrace.event_cells(c.columns, 4, c.events), millrace.event_cells(c.columns, 5, c.events),
      millrace.event_cells(c.columns, 6, c.events), millrace.event_cells(c.columns, 7, c.events),
      millrace.event_cells(c.columns, 8, c.events))
      with ordinality as e(kind, ago, job_at, task_no, node, run, attempt, fence, detail, place)
    left join lateral (
      select x.id, x.no, x.task_id from millrace.job x
       where x.shard = c.shard and x.no = c.job_min + e.job_at::bigint) j on true
    left join lateral (
      select x.id from millrace.task_spec x
       where x.shard = c.shard and x.job_no = j.no and x.task_no = e.task_no::integer) s on true
   where c.first_seq + e.place - 1 >= l.first_seq;

drop function millrace.event_cell;
