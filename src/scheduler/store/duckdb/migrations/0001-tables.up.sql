-- One process owns the file, so there are no locks, no notifications and no leader's address here.
--
-- There is no PRIMARY KEY, UNIQUE or other index in this schema, on purpose:
--  * An index of DuckDB 1.5 can end up corrupt after updates or a replayed log (duckdb issues 23645,
--    23788, 25928); a table without one cannot.
--  * With an index, deleted rows are never merged away at a checkpoint.
--  * Nothing here needs one. Rows come in number order, so the minimum and maximum that DuckDB keeps
--    for every 16,384 rows find a job's rows (measured: an update of 500 tasks costs the same among
--    a thousand and a million). Numbers are unique because the counters only grow; names are looked
--    up in memory (hash-index.ts), where `..._hash` comes from.
--
-- Times are milliseconds since 1970. Read one with epoch_ms(created_at).

create table shard (
  shard integer not null,
  epoch bigint not null,
  term varchar not null,
  -- Floors: the events and jobs that are stored may already be beyond.
  last_seq bigint not null,
  next_job_no bigint not null
);

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

create table spec (
  shard integer not null,
  job_no bigint not null,
  task_no integer not null,
  id varchar not null,
  executor varchar not null,
  priority integer not null check (priority between 0 and 3),
  parent_no integer,
  depends_on integer[] not null,
  idempotency_key varchar,
  options varchar,
  input varchar
);

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

-- The rows of earlier runs, as they were when the next run overwrote them.
create table history as from task limit 0;

create table result (
  shard integer not null,
  job_no bigint not null,
  task_no integer not null,
  run integer not null,
  body varchar not null
);

create table step (
  shard integer not null,
  job_no bigint not null,
  task_no integer not null,
  run integer not null,
  name varchar not null,
  body varchar not null
);

create table idempotency (
  shard integer not null,
  -- Grows with every write of a key, so that its row is found like a job's.
  no bigint not null,
  scope varchar not null,
  scope_hash bigint not null,
  state varchar not null check (state in ('pending', 'completed')),
  job_no bigint not null,
  task_no integer not null,
  result varchar,
  updated_at bigint not null,
  check (state = 'completed' or result is null)
);

create table node (
  shard integer not null,
  id varchar not null,
  session_id varchar not null,
  status varchar not null check (status in ('healthy', 'stale', 'dead')),
  draining boolean not null,
  slots integer not null,
  executors varchar[] not null,
  capabilities varchar not null,
  address varchar,
  version varchar not null,
  quarantined_until bigint,
  registered_at bigint not null,
  seen_at bigint not null
);

create table schedule (
  shard integer not null,
  id varchar not null,
  spec varchar not null,
  paused boolean not null,
  next_at bigint,
  last_at bigint,
  last_job_id varchar
);

-- Only filled by an import: there is no other process that could put a job in here.
create table inbox (
  shard integer not null,
  no bigint not null,
  job_id varchar not null,
  document varchar not null
);

create table event (
  shard integer not null,
  seq bigint not null,
  happened_at bigint not null,
  -- The position in LOG_KINDS.
  kind integer not null,
  job_no bigint,
  task_no integer,
  node_id varchar,
  run integer,
  attempt integer,
  fence integer,
  detail varchar
);
