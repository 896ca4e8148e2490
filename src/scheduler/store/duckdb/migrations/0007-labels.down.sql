alter table job rename to job_before;
create table job (
  shard integer not null,
  no bigint not null,
  id varchar not null,
  id_hash bigint not null,
  name varchar not null,
  priority integer not null check (priority between 0 and 3),
  idempotency_key varchar,
  idempotency_key_hash bigint,
  max_parallel integer check (max_parallel > 0),
  on_failure varchar not null check (on_failure in ('finish', 'cancel')),
  total_ms bigint,
  schedule_id varchar,
  output varchar,
  created_at bigint not null,
  state varchar not null
    check (state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
  run integer not null,
  task_count integer not null,
  stopping varchar check (stopping in ('cancel', 'timeout', 'failure')),
  error_code varchar,
  error_message varchar,
  started_at bigint,
  finished_at bigint,
  check ((state in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
  check ((error_code is null) = (error_message is null))
);
insert into job by name select * exclude (labels, run_at, options) from job_before order by shard, no;
drop table job_before;
