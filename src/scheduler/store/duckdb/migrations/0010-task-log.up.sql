-- What tasks have printed. Not part of a commit: see task-log.ts.

create table task_log (
  seq bigint not null,
  shard integer not null,
  job_id varchar not null,
  task_id varchar not null,
  attempt integer not null,
  -- Milliseconds since 1970.
  at_ms bigint not null,
  level varchar not null,
  message varchar not null,
  -- JSON of an object.
  fields varchar,
  -- Milliseconds since 1970, by the clock of the store.
  written_ms bigint not null
);
