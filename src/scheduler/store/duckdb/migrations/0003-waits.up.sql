-- Durable waiting: signals, what a suspended task waits for, and the template of a job's own result.
--
-- The tables are made anew: a check cannot be changed in place, and rows go into a table, and out into an
-- export, by the places of the columns. In number order, because that is how a job's rows are found.

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
insert into job by name from job_before order by shard, no;
drop table job_before;

alter table task rename to task_before;
create table task (
  shard integer not null,
  job_no bigint not null,
  task_no integer not null,
  state varchar not null check (
    state in (
      'blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'
    )
  ),
  run integer not null,
  attempt integer not null,
  failures integer not null,
  losses integer not null,
  fence integer not null,
  term varchar,
  node_id varchar,
  session_id varchar,
  stopping varchar check (stopping in ('cancel', 'timeout')),
  suspended varchar check (suspended in ('time', 'children', 'signal', 'job')),
  waits varchar,
  not_before bigint,
  progress double not null check (progress between 0 and 1),
  error_code varchar,
  error_message varchar,
  queued_at bigint,
  started_at bigint,
  finished_at bigint,
  check ((state = 'running') = (session_id is not null)),
  check ((state in ('succeeded', 'failed', 'cancelled', 'skipped')) = (finished_at is not null)),
  check (state <> 'delayed' or not_before is not null),
  check ((error_code is null) = (error_message is null))
);
insert into task by name from task_before order by shard, job_no, task_no;
drop table task_before;

alter table history rename to history_before;
create table history as from task limit 0;
insert into history by name from history_before order by shard, job_no, task_no, run;
drop table history_before;

-- What somebody told a job. Kept after it was taken, so that a repeated id is known.
create table signal (
  shard integer not null,
  job_no bigint not null,
  no integer not null,
  id varchar not null,
  name varchar not null,
  body varchar not null,
  sent_at bigint not null,
  taken boolean not null
);
