do $$
begin
  perform millrace.spread_tasks(j.shard, array_agg(j.no)) from millrace.job j where j.task_state is not null group by j.shard;
end $$;

create or replace view millrace.tasks as
  select j.id as job, s.id as task,
      (array['blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'])[t.state + 1] as state,
      s.executor, t.run, t.attempt, t.failures, t.losses, t.fence, t.node_id as node, t.progress, t.error_code,
      t.error_message, t.queued_at, t.not_before, t.started_at, t.finished_at
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no;

create or replace view millrace.leases as
  select j.id as job, s.id as task, t.node_id as node, t.attempt, t.fence, t.started_at as since,
      n.status as node_status, coalesce(n.session_id = t.session_id, false) as is_held
    from millrace.task t
    join millrace.task_spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
    join millrace.job j on j.shard = t.shard and j.no = t.job_no
    left join millrace.node n on n.shard = t.shard and n.id = t.node_id
   where t.state = 3;

create function millrace.event_cell(body json, place integer, row_no integer) returns text immutable language sql as $$
  select case when json_typeof(body -> place) = 'array' then body -> place ->> row_no else body ->> place end
$$;

create or replace view millrace.events as
  select e.seq,
      c.at - millrace.event_cell(c.columns, 1, e.row_no)::bigint * interval '1 millisecond' as at,
      millrace.event_kind(millrace.event_cell(c.columns, 0, e.row_no)::integer) as event,
      j.id as job, s.id as task,
      millrace.event_cell(c.columns, 4, e.row_no) as node,
      millrace.event_cell(c.columns, 5, e.row_no)::integer as run,
      millrace.event_cell(c.columns, 6, e.row_no)::integer as attempt,
      millrace.event_cell(c.columns, 7, e.row_no)::bigint as fence,
      millrace.event_cell(c.columns, 8, e.row_no) as detail,
      c.at as commit_at
    from (select x.shard, x.first_seq, x.last_seq, x.at, x.job_min, x.body::json as columns from millrace.event_chunk x) c
    join millrace.leader l on l.shard = c.shard
    cross join lateral (
      select g.seq, (g.seq - c.first_seq)::integer as row_no
        from generate_series(greatest(c.first_seq, l.first_seq), c.last_seq) as g(seq)) e
    left join lateral (
      select x.id, x.no from millrace.job x
       where x.shard = c.shard and x.no = c.job_min + millrace.event_cell(c.columns, 2, e.row_no)::bigint) j on true
    left join lateral (
      select x.id from millrace.task_spec x
       where x.shard = c.shard and x.job_no = j.no
         and x.task_no = millrace.event_cell(c.columns, 3, e.row_no)::integer) s on true;

drop function millrace.event_cells;

drop function millrace.spread_tasks;
drop function millrace.insert_jobs;
drop function millrace.update_jobs;
drop view millrace.any_spec, millrace.any_task, millrace.any_result;
alter table millrace.job
  drop column task_id,
  drop column task_executor,
  drop column task_priority,
  drop column task_options,
  drop column task_input,
  drop column task_state,
  drop column task_attempt,
  drop column task_failures,
  drop column task_losses,
  drop column task_fence,
  drop column task_term,
  drop column task_node_id,
  drop column task_session_id,
  drop column task_stopping,
  drop column task_suspended,
  drop column task_waits,
  drop column task_not_before,
  drop column task_progress,
  drop column task_error_code,
  drop column task_error_message,
  drop column task_queued_at,
  drop column task_started_at,
  drop column task_result;
alter table millrace.job set (fillfactor = 50);

create function millrace.insert_jobs(
  shard smallint, log_from bigint, log_to bigint, no bigint[], id text[], name text[], priority smallint[],
  idempotency_key text[], max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[],
  output text[], labels text[], run_at timestamptz[], options text[], created_at timestamptz[], state smallint[],
  run integer[], task_count integer[], stopping text[], error_code text[], error_message text[],
  started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, log_from, log_to, no, id, name, priority, idempotency_key, max_parallel,
      on_failure, total_ms, schedule_id, output, labels, run_at, options, created_at, state, run, task_count,
      stopping, error_code, error_message, started_at, finished_at)
    select
      shard, log_from, case when u.finished_at is not null then log_to end, u.no, u.id, u.name, u.priority,
      u.idempotency_key, u.max_parallel, u.on_failure, u.total_ms, u.schedule_id, u.output, u.labels::text[],
      u.run_at, u.options, u.created_at, u.state, u.run, u.task_count, u.stopping, u.error_code, u.error_message,
      u.started_at, u.finished_at
    from (select
      unnest(no) as no, unnest(id) as id, unnest(name) as name, unnest(priority) as priority,
      unnest(idempotency_key) as idempotency_key, unnest(max_parallel) as max_parallel,
      unnest(on_failure) as on_failure, unnest(total_ms) as total_ms, unnest(schedule_id) as schedule_id,
      unnest(output) as output, unnest(labels) as labels, unnest(run_at) as run_at, unnest(options) as options,
      unnest(created_at) as created_at, unnest(state) as state, unnest(run) as run,
      unnest(task_count) as task_count, unnest(stopping) as stopping, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) u;
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

create function millrace.update_jobs(
  shard smallint, log_to bigint, no bigint[], options text[], state smallint[], run integer[], task_count integer[],
  stopping text[], error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  merge into millrace.job j
    using (select
      unnest(no) as no, unnest(options) as options, unnest(state) as state, unnest(run) as run,
      unnest(task_count) as task_count, unnest(stopping) as stopping, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) as u
    on j.shard = update_jobs.shard and j.no = u.no
    when matched then update
      set options = u.options, state = u.state, run = u.run, task_count = u.task_count, stopping = u.stopping,
          error_code = u.error_code, error_message = u.error_message,
          started_at = u.started_at, finished_at = u.finished_at,
          log_to = case when u.finished_at is not null then update_jobs.log_to end
    when not matched then insert (shard) values (millrace.refuse(format('there is no job %s', u.no)));
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
