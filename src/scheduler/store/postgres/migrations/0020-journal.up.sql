-- A commit is one row of the journal; the tables follow behind it, see decision 34. `body` is a batch as text, in
-- columns (pack.ts). It is stored as it is: compressing it costs the server more than writing it.
--
-- Two tables take turns: rows are appended to one of them, and the other is truncated as soon as all its rows are in the
-- tables. Deleted rows would stay for as long as any transaction on the server is older, and the journal would grow.
create table millrace.journal_0 (
  shard smallint not null,
  commit_no bigint not null,
  term text not null,
  body text not null,
  primary key (shard, commit_no)
) with (autovacuum_enabled = off);
alter table millrace.journal_0 alter column body set storage external;
create table millrace.journal_1 (like millrace.journal_0 including all) with (autovacuum_enabled = off);

create view millrace.journal as
  select * from millrace.journal_0 union all select * from millrace.journal_1;

-- How far the tables are. Apart from the leader's row: a fold holds it, and commits must not wait for that.
create table millrace.journal_fold (
  shard smallint primary key,
  commit_no bigint not null
) with (fillfactor = 10, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

insert into millrace.journal_fold (shard, commit_no) select l.shard, l.commit_no from millrace.leader l;

-- A row is written once or twice now, not three times: see 0001 for what the room was for.
alter table millrace.job set (fillfactor = 50);
alter table millrace.task set (fillfactor = 38);

-- Names of new jobs that are taken. The batch that brings them has been checked within itself. `shard + 0` leaves the planner
-- no index but that of the names: without statistics it has walked through the whole shard for each of them (seen).
create function millrace.check_names(shard smallint, id text[], idempotency_key text[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
declare
  taken text;
begin
  if id is null then return shard; end if;
  select j.id into taken from millrace.job j where j.id = any (id) and j.shard + 0 = check_names.shard limit 1;
  if found then perform millrace.refuse(format('job id %s is taken', taken)); end if;
  if idempotency_key = '{}' then return shard; end if;
  select j.idempotency_key into taken from millrace.job j
   where j.idempotency_key = any (idempotency_key) and j.idempotency_key is not null
     and j.shard + 0 = check_names.shard limit 1;
  if found then perform millrace.refuse(format('idempotency key %s is taken', taken)); end if;
  return shard;
end $$;

-- The fence has been passed in the same statement. A standby may have every commit and lack the last fold: the leader has
-- forgotten what it takes for folded, so that is another history for it (MR003).
create function millrace.append(
  shard smallint, part integer, commit_no bigint, folded_no bigint, term text, body text
) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  at bigint := coalesce((select f.commit_no from millrace.journal_fold f where f.shard = append.shard), 0);
begin
  if at < folded_no then
    raise exception using errcode = 'MR003', message = format('%s is the last commit in the tables, not %s', at, folded_no);
  end if;
  if part = 0 then
    insert into millrace.journal_0 values (shard, commit_no, term, body);
  else
    insert into millrace.journal_1 values (shard, commit_no, term, body);
  end if;
  return shard;
end $$;

-- SQLSTATE MR004: the tables are not at commit `after`, or the last commit of the fold is not of this history.
create function millrace.begin_fold(shard smallint, after bigint, commit_no bigint, term text)
returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if after = 0 then
    insert into millrace.journal_fold values (shard, 0) on conflict do nothing;
  end if;
  update millrace.journal_fold f set commit_no = begin_fold.commit_no
   where f.shard = begin_fold.shard and f.commit_no = after
     and exists (select from millrace.journal j
                  where j.shard = begin_fold.shard and j.commit_no = begin_fold.commit_no and j.term = begin_fold.term);
  if not found then
    raise exception using errcode = 'MR004', message = format('the tables are not at commit %s', after);
  end if;
  return shard;
end $$;

-- Empties one of the two tables if all its rows are in the tables. Rows that came in before the lock was there are seen.
create function millrace.trim_journal(part integer) returns boolean language plpgsql as $$
declare
  needed boolean;
begin
  execute format('lock table millrace.journal_%s in access exclusive mode', part);
  execute format('select exists (select from millrace.journal_%s j left join millrace.journal_fold f
    on f.shard = j.shard where j.commit_no > coalesce(f.commit_no, 0))', part) into needed;
  if not needed then execute format('truncate millrace.journal_%s', part); end if;
  return not needed;
end $$;

-- Ended runs that never were in the table of tasks.
create function millrace.insert_history(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], waits text[], not_before timestamptz[], progress double precision[],
  error_code text[], error_message text[], queued_at timestamptz[], started_at timestamptz[],
  finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task_history (shard, job_no, task_no, state, run, attempt, failures, losses, fence, term,
      node_id, session_id, stopping, suspended, waits, not_before, progress, error_code, error_message, queued_at,
      started_at, finished_at)
    select
      shard, unnest(job_no), unnest(task_no), unnest(state), unnest(run), unnest(attempt), unnest(failures),
      unnest(losses), unnest(fence), unnest(term), unnest(node_id), unnest(session_id), unnest(stopping),
      unnest(suspended), unnest(waits), unnest(not_before), unnest(progress), unnest(error_code),
      unnest(error_message), unnest(queued_at), unnest(started_at), unnest(finished_at);
  return shard;
end $$;

drop function millrace.insert_jobs;

-- As in 0014; a job that has begun and ended since the last fold knows where its events end.
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
