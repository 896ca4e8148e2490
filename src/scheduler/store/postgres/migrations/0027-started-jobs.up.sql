-- Which jobs a schedule has started, and which an event or a task: only those have entries. What an entry is made of never
-- changes, and an update that leaves the options as they are stays on its page (see 0001).
create index job_schedule on millrace.job (schedule_id, no, shard) where schedule_id is not null;
-- The options are canonical JSON, and names of events and ids of jobs have no quotes.
create index job_started_by on millrace.job (
  (substring(options from '"startedBy":(\{"(?:event|job)":"[^"]*")') collate "C"), no, shard)
  where position('"startedBy":' in options) > 0;
