-- Every table carries the shard in its key, so that a second leader needs no new schema. There are no
-- foreign keys: one writer keeps the rows together, and a trigger per row would cost more than the row.
-- Ids are compared byte by byte (collate "C"). JSON is kept as text, to the letter: jsonb cannot hold
-- \u0000 and would rewrite numbers. Fixed-width columns come first, which saves padding. Only the
-- primary key begins with the shard: with a second index to choose from, a planner that has no statistics yet
-- takes the wrong one as soon as not (seen: 10,000 looks by key took 11 s).

create table millrace.leader (
  shard smallint primary key,
  released boolean not null default false,
  backend_pid integer,
  epoch bigint not null,
  last_seq bigint not null default 0,
  -- The oldest event that is still kept; older ones go when their whole partition is old.
  first_seq bigint not null default 1,
  -- The event number from which on another partition has to be made, see extend_events.
  event_limit bigint not null default 0,
  next_job_no bigint not null default 1,
  expires_at timestamptz not null,
  backend_start timestamptz,
  term text not null,
  node_id text not null,
  url text,
  grpc text
) with (fillfactor = 10, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0);

-- state: 0 queued, 1 running, 2 succeeded, 3 failed, 4 cancelled.
create table millrace.job (
  shard smallint not null,
  priority smallint not null check (priority between 0 and 3),
  state smallint not null check (state between 0 and 4),
  run integer not null check (run >= 0),
  task_count integer not null check (task_count >= 0),
  max_parallel integer check (max_parallel > 0),
  no bigint not null check (no > 0),
  total_ms bigint check (total_ms >= 0),
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  id text collate "C" not null,
  name text not null,
  on_failure text not null check (on_failure in ('finish', 'cancel')),
  stopping text check (stopping in ('cancel', 'timeout', 'failure')),
  idempotency_key text collate "C",
  schedule_id text,
  error_code text,
  error_message text,
  primary key (shard, no),
  constraint job_id unique (id, shard),
  constraint job_finished check ((state >= 2) = (finished_at is not null)),
  constraint job_error check ((error_code is null) = (error_message is null))
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.05);

create unique index job_key on millrace.job (idempotency_key, shard) where idempotency_key is not null;
-- For pruning by age. Jobs end roughly in the order in which they lie, and a block range costs
-- nothing to write; a btree here would be one more entry for every job.
create index job_finished_at on millrace.job using brin (finished_at) with (autosummarize = on);

-- Which jobs are live. A partial index on job would say the same, but each end of a job would then change an
-- index, leave its page and enter all other indexes anew: a tenth of what a whole task costs (measured).
create table millrace.job_live (
  shard smallint not null,
  priority smallint not null,
  no bigint not null,
  primary key (shard, no)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- The hot row: every transition rewrites it. Its only index is the key, which never changes, and a page is
-- filled so far that each row's three versions (waiting, running, ended) fit on it. So updates stay on
-- the page (HOT), also while a long transaction elsewhere on the server keeps old versions alive.
-- state: 0 blocked, 1 ready, 2 delayed, 3 running, 4 succeeded, 5 failed, 6 cancelled, 7 skipped.
create table millrace.task (
  shard smallint not null,
  state smallint not null,
  task_no integer not null,
  job_no bigint not null,
  run integer not null,
  attempt integer not null,
  failures integer not null,
  losses integer not null,
  fence bigint not null,
  progress double precision not null,
  not_before timestamptz,
  queued_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  term text,
  node_id text,
  session_id text,
  stopping text,
  suspended text,
  error_code text,
  error_message text,
  primary key (shard, job_no, task_no),
  constraint task_state check (state between 0 and 7),
  constraint task_counts check (least(task_no, run, attempt, failures, losses, fence) >= 0),
  constraint task_progress check (progress between 0 and 1),
  constraint task_lease check ((state = 3) = (session_id is not null)),
  constraint task_fence check (state <> 3 or fence > 0),
  constraint task_stopping check (stopping is null or state = 3 and stopping in ('cancel', 'timeout')),
  constraint task_suspended check (suspended in ('time', 'children', 'signal')),
  constraint task_delayed check (state <> 2 or not_before is not null),
  constraint task_finished check ((state >= 4) = (finished_at is not null)),
  constraint task_error check ((error_code is null) = (error_message is null))
) with (fillfactor = 22, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

create table millrace.task_history (like millrace.task including constraints);
alter table millrace.task_history add primary key (shard, job_no, task_no, run);

create table millrace.task_spec (
  shard smallint not null,
  priority smallint not null check (priority between 0 and 3),
  task_no integer not null check (task_no >= 0),
  job_no bigint not null,
  parent_no integer,
  id text collate "C" not null,
  executor text not null,
  depends_on integer[] not null,
  idempotency_key text,
  options text,
  input text,
  primary key (shard, job_no, task_no),
  constraint task_spec_id unique (id, job_no, shard)
);

-- Who names a key: asked before the key is pruned. The expression is keyScope() of the core.
create index task_spec_key on millrace.task_spec (((executor || '/' || idempotency_key) collate "C"), shard)
  where idempotency_key is not null;

create table millrace.task_result (
  shard smallint not null,
  task_no integer not null,
  job_no bigint not null,
  run integer not null check (run >= 0),
  body text not null,
  primary key (shard, job_no, task_no, run)
);

create table millrace.task_step (
  shard smallint not null,
  task_no integer not null,
  job_no bigint not null,
  run integer not null check (run >= 0),
  name text collate "C" not null,
  body text not null,
  primary key (shard, job_no, task_no, run, name)
);

create table millrace.idempotency (
  shard smallint not null,
  task_no integer not null,
  job_no bigint not null,
  updated_at timestamptz not null,
  scope text collate "C" not null,
  state text not null check (state in ('pending', 'completed')),
  result text,
  primary key (shard, scope),
  constraint idempotency_pending check (state = 'completed' or result is null)
);

create index idempotency_completed on millrace.idempotency (updated_at, shard) where state = 'completed';

create table millrace.node (
  shard smallint not null,
  draining boolean not null,
  slots integer not null check (slots >= 0),
  quarantined_until timestamptz,
  registered_at timestamptz not null,
  seen_at timestamptz not null,
  id text collate "C" not null,
  session_id text not null,
  status text not null check (status in ('healthy', 'stale', 'dead')),
  executors text[] not null,
  capabilities text not null,
  address text,
  version text not null,
  primary key (shard, id)
) with (fillfactor = 50);

create table millrace.schedule (
  shard smallint not null,
  paused boolean not null,
  next_at timestamptz,
  last_at timestamptz,
  id text collate "C" not null,
  spec text not null,
  last_job_id text,
  primary key (shard, id)
) with (fillfactor = 50);

-- Jobs that users enqueue in transactions of their own, see submit(). The leader deletes each row in
-- the transaction that makes its job, so numbers that commit out of order are never passed over.
create table millrace.inbox (
  shard smallint not null,
  no bigint generated by default as identity,
  created_at timestamptz not null default now(),
  job_id text not null,
  document text not null,
  primary key (shard, no)
);

-- Partitioned by number, not by time: reading after a number then touches one partition, and the
-- key stays unique. The commit that reaches the last partition makes the next one (extend_events),
-- so there is always one ahead, and no default partition that would have to be emptied.
create table millrace.event (
  shard smallint not null,
  kind smallint not null,
  task_no integer,
  seq bigint not null,
  at timestamptz not null,
  job_no bigint,
  fence bigint,
  run integer,
  attempt integer,
  node_id text,
  detail text,
  primary key (shard, seq),
  constraint event_counts check (least(kind, run, attempt, fence) >= 0)
) partition by range (shard, seq);

create index event_job on millrace.event (job_no, seq) where job_no is not null;

create table millrace.event_part (
  shard smallint not null,
  first_seq bigint not null,
  next_seq bigint not null,
  made_at timestamptz not null default now(),
  name text not null,
  primary key (shard, first_seq)
);
