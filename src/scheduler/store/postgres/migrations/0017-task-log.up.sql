-- What tasks have printed. Not part of a commit: see task-log.ts. Lines have no key to their job, because a job may be
-- recorded after the first of its lines; the lines of jobs that are gone are pruned.

create table millrace.task_log_head (
  shard smallint not null,
  job_id text not null,
  -- The number of the job's last line. Its row is the lock of those who append.
  last_seq bigint not null,
  written_at timestamptz not null,
  primary key (shard, job_id)
);

create table millrace.task_log (
  shard smallint not null,
  job_id text not null,
  seq bigint not null,
  task_id text not null,
  attempt integer not null,
  -- Milliseconds.
  at bigint not null,
  level text not null,
  message text not null,
  -- JSON of an object.
  fields text,
  primary key (shard, job_id, seq)
);
