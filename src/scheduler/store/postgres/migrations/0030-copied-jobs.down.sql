drop function millrace.insert_labels;
drop function millrace.insert_live;

-- As in 0024.
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
