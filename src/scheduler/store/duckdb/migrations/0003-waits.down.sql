drop table signal;
alter table history drop column waits;
update history set suspended = 'time' where suspended = 'job';

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
  suspended varchar check (suspended in ('time', 'children', 'signal')),
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
-- A task that waits for a signal or a job would wait for ever in a version that knows neither: it goes on
-- when its time is up, or at once, and its handler finds the steps that are there.
insert into task
  select * exclude (waits) replace (
      case when suspended in ('signal', 'job') and state = 'blocked' then 'ready' else state end as state,
      case when suspended in ('signal', 'job') and state = 'blocked' then epoch_ms(now()) else queued_at end
        as queued_at,
      case when suspended in ('signal', 'job') then 'time' else suspended end as suspended)
    from task_before order by shard, job_no, task_no;
drop table task_before;

alter table job drop column output;
