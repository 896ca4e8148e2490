-- A commit is one statement that calls one function a list, each inside the next:
--   select millrace.insert_events(... millrace.insert_jobs(millrace.fence(...), ...) ...)
-- One statement is one transaction whatever the driver, the pooler or a lost connection do to it, it
-- holds the leader's row only while the server works, and the nesting fixes the order. Each function
-- takes the shard and gives it on; an array per column, null for an empty list. `select unnest(a),
-- unnest(b)` walks the arrays side by side, at a third of the cost of `from unnest(a, b)`.
--
-- SQLSTATE MR001: the term no longer leads. MR002: a row that the batch relies on is not as it says.

-- Updates are written as MERGE, because its outer join fixes the plan: from the batch, one look by key for
-- each row. An UPDATE ... FROM planned while the table was small has scanned it once a row ever after
-- (seen: 10,000 updates took more than 4 s instead of 50 ms). A row that is not there is refused.

create function millrace.refuse(reason text) returns smallint language plpgsql as $$
begin
  raise exception using errcode = 'MR002', message = reason;
end $$;

create function millrace.fence(
  shard smallint, epoch bigint, term text, ttl_ms bigint, last_seq bigint, events integer, next_job_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  event_limit bigint;
begin
  update millrace.leader l
     set last_seq = fence.last_seq, next_job_no = fence.next_job_no,
         expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = fence.shard and l.epoch = fence.epoch and l.term = fence.term and not l.released
     and l.last_seq + events = fence.last_seq and l.next_job_no <= fence.next_job_no
  returning l.event_limit into event_limit;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform millrace.refuse('the counters do not follow on those that are stored');
  end if;
  if last_seq >= event_limit then
    perform millrace.extend_events(shard, last_seq);
  end if;
  return shard;
end $$;

-- Locks the reign, or says that it is over.
create function millrace.check_reign(shard smallint, epoch bigint, term text) returns void
language plpgsql as $$
begin
  perform from millrace.leader l
    where l.shard = check_reign.shard and l.epoch = check_reign.epoch and l.term = check_reign.term and not l.released
    for no key update;
  if not found then
    raise exception using errcode = 'MR001',
      message = format('term %s (epoch %s) does not lead shard %s', term, epoch, shard);
  end if;
end $$;

-- Makes partitions until one lies whole ahead of `last_seq`. Their size follows the rate: doubled when
-- the last one was filled within an hour, halved when it took more than a day, so that a quiet log is
-- dropped in small parts and a busy one does not grow thousands of tables. Attaching takes a lock
-- that readers and writers do not feel; creating a partition in place would wait for every reader.
create function millrace.extend_events(shard smallint, last_seq bigint) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  tail millrace.event_part;
  first_seq bigint;
  size bigint;
  name text;
begin
  loop
    select p.* into tail from millrace.event_part p
      where p.shard = extend_events.shard order by p.first_seq desc limit 1;
    exit when tail.first_seq > greatest(last_seq, 1);
    size := tail.next_seq - tail.first_seq;
    size := case
      when size is null then 65536
      when tail.made_at > now() - interval '1 hour' then least(size * 2, 16777216)
      when tail.made_at < now() - interval '1 day' then greatest(size / 2, 65536)
      else size
    end;
    first_seq := coalesce(tail.next_seq, 1);
    perform millrace.make_events(shard, first_seq, first_seq + size);
  end loop;
  update millrace.leader l set event_limit = tail.first_seq where l.shard = extend_events.shard;
end $$;

create function millrace.make_events(shard smallint, first_seq bigint, next_seq bigint) returns void
language plpgsql as $$
declare
  name text := format('event_%s_%s', shard, first_seq);
begin
  execute format('create table millrace.%I (like millrace.event including all)', name);
  execute format('alter table millrace.event attach partition millrace.%I for values from (%s, %s) to (%s, %s)',
    name, shard, first_seq, shard, next_seq);
  insert into millrace.event_part (shard, first_seq, next_seq, name)
    values (shard, first_seq, next_seq, name);
end $$;

-- A task that is not there gives a row of nulls, which the history refuses.
create function millrace.archive_tasks(shard smallint, job_no bigint[], task_no integer[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task_history
    select t.* from unnest(job_no, task_no) as u(job_no, task_no)
      left join millrace.task t
        on t.shard = archive_tasks.shard and t.job_no = u.job_no and t.task_no = u.task_no;
  return shard;
end $$;

create function millrace.insert_jobs(
  shard smallint, no bigint[], id text[], name text[], priority smallint[], idempotency_key text[],
  max_parallel integer[], on_failure text[], total_ms bigint[], schedule_id text[], created_at timestamptz[],
  state smallint[], run integer[], task_count integer[], stopping text[], error_code text[],
  error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job (shard, no, id, name, priority, idempotency_key, max_parallel, on_failure, total_ms,
      schedule_id, created_at, state, run, task_count, stopping, error_code, error_message, started_at, finished_at)
    select
      shard, unnest(no), unnest(id), unnest(name), unnest(priority), unnest(idempotency_key),
      unnest(max_parallel), unnest(on_failure), unnest(total_ms), unnest(schedule_id), unnest(created_at),
      unnest(state), unnest(run), unnest(task_count), unnest(stopping), unnest(error_code),
      unnest(error_message), unnest(started_at), unnest(finished_at);
  insert into millrace.job_live (shard, no, priority)
    select shard, u.no, u.priority from (
      select unnest(no) as no, unnest(priority) as priority, unnest(finished_at) as finished_at) u
    where u.finished_at is null;
  return shard;
end $$;

-- A job that has ended lives again in a new run only, so in the first one nobody has to look.
create function millrace.update_jobs(
  shard smallint, no bigint[], state smallint[], run integer[], task_count integer[], stopping text[],
  error_code text[], error_message text[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  merge into millrace.job j
    using (select
      unnest(no) as no, unnest(state) as state, unnest(run) as run, unnest(task_count) as task_count,
      unnest(stopping) as stopping, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(started_at) as started_at,
      unnest(finished_at) as finished_at) as u
    on j.shard = update_jobs.shard and j.no = u.no
    when matched then update
      set state = u.state, run = u.run, task_count = u.task_count, stopping = u.stopping,
          error_code = u.error_code, error_message = u.error_message,
          started_at = u.started_at, finished_at = u.finished_at
    when not matched then insert (shard) values (millrace.refuse(format('there is no job %s', u.no)));
  delete from millrace.job_live l
    where l.shard = update_jobs.shard and l.no = any (array(
      select u.no from (select unnest(no) as no, unnest(finished_at) as finished_at) u
      where u.finished_at is not null));
  if 1 < any (run) then
    insert into millrace.job_live (shard, no, priority)
      select j.shard, j.no, j.priority from millrace.job j
      where j.shard = update_jobs.shard and j.no = any (no) and j.run > 1 and j.finished_at is null
      on conflict do nothing;
  end if;
  return shard;
end $$;

create function millrace.insert_specs(
  shard smallint, job_no bigint[], task_no integer[], id text[], executor text[], priority smallint[],
  parent_no integer[], depends_on text[], idempotency_key text[], options text[], input text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task_spec (shard, job_no, task_no, id, executor, priority, parent_no, depends_on,
      idempotency_key, options, input)
    select
      shard, unnest(job_no), unnest(task_no), unnest(id), unnest(executor), unnest(priority),
      unnest(parent_no), unnest(depends_on)::integer[], unnest(idempotency_key), unnest(options),
      unnest(input);
  return shard;
end $$;

create function millrace.insert_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], not_before timestamptz[], progress double precision[], error_code text[],
  error_message text[], queued_at timestamptz[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task (shard, job_no, task_no, state, run, attempt, failures, losses, fence, term, node_id,
      session_id, stopping, suspended, not_before, progress, error_code, error_message, queued_at, started_at,
      finished_at)
    select
      shard, unnest(job_no), unnest(task_no), unnest(state), unnest(run), unnest(attempt), unnest(failures),
      unnest(losses), unnest(fence), unnest(term), unnest(node_id), unnest(session_id), unnest(stopping),
      unnest(suspended), unnest(not_before), unnest(progress), unnest(error_code), unnest(error_message),
      unnest(queued_at), unnest(started_at), unnest(finished_at);
  return shard;
end $$;

create function millrace.update_tasks(
  shard smallint, job_no bigint[], task_no integer[], state smallint[], run integer[], attempt integer[],
  failures integer[], losses integer[], fence bigint[], term text[], node_id text[], session_id text[],
  stopping text[], suspended text[], not_before timestamptz[], progress double precision[], error_code text[],
  error_message text[], queued_at timestamptz[], started_at timestamptz[], finished_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  merge into millrace.task t
    using (select
      unnest(job_no) as job_no, unnest(task_no) as task_no, unnest(state) as state, unnest(run) as run,
      unnest(attempt) as attempt, unnest(failures) as failures, unnest(losses) as losses,
      unnest(fence) as fence, unnest(term) as term, unnest(node_id) as node_id,
      unnest(session_id) as session_id, unnest(stopping) as stopping, unnest(suspended) as suspended,
      unnest(not_before) as not_before, unnest(progress) as progress, unnest(error_code) as error_code,
      unnest(error_message) as error_message, unnest(queued_at) as queued_at,
      unnest(started_at) as started_at, unnest(finished_at) as finished_at) as u
    on t.shard = update_tasks.shard and t.job_no = u.job_no and t.task_no = u.task_no
    when matched then update
      set state = u.state, run = u.run, attempt = u.attempt, failures = u.failures, losses = u.losses,
          fence = u.fence, term = u.term, node_id = u.node_id, session_id = u.session_id,
          stopping = u.stopping, suspended = u.suspended, not_before = u.not_before, progress = u.progress,
          error_code = u.error_code, error_message = u.error_message, queued_at = u.queued_at,
          started_at = u.started_at, finished_at = u.finished_at
    when not matched then
      insert (shard) values (millrace.refuse(format('there is no task %s/%s', u.job_no, u.task_no)));
  return shard;
end $$;

create function millrace.insert_results(
  shard smallint, job_no bigint[], task_no integer[], run integer[], body text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task_result (shard, job_no, task_no, run, body)
    select
      shard, unnest(job_no), unnest(task_no), unnest(run), unnest(body);
  return shard;
end $$;

create function millrace.put_keys(
  shard smallint, scope text[], state text[], job_no bigint[], task_no integer[], result text[],
  updated_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if scope is null then return shard; end if;
  insert into millrace.idempotency as k (shard, scope, state, job_no, task_no, result, updated_at)
    select
      shard, unnest(scope), unnest(state), unnest(job_no), unnest(task_no), unnest(result),
      unnest(updated_at)
    on conflict on constraint idempotency_pkey do update
      set state = excluded.state, job_no = excluded.job_no, task_no = excluded.task_no,
          result = excluded.result, updated_at = excluded.updated_at;
  return shard;
end $$;

create function millrace.delete_keys(shard smallint, scope text[]) returns smallint language plpgsql as $$
begin
  if scope is null then return shard; end if;
  delete from millrace.idempotency k where k.shard = delete_keys.shard and k.scope = any (delete_keys.scope);
  return shard;
end $$;

-- A null result has no row; but the key must be there and completed.
create function millrace.copy_results(
  shard smallint, job_no bigint[], task_no integer[], run integer[], scope text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
declare
  missing text;
begin
  if job_no is null then return shard; end if;
  select u.scope into missing from unnest(scope) as u(scope)
    left join millrace.idempotency k on k.shard = copy_results.shard and k.scope = u.scope
    where k.state is distinct from 'completed' limit 1;
  if found then perform millrace.refuse(format('key %s is not completed', missing)); end if;
  insert into millrace.task_result (shard, job_no, task_no, run, body)
    select shard, c.job_no, c.task_no, c.run, c.result from (
      select u.job_no, u.task_no, u.run, k.result
        from unnest(job_no, task_no, run, scope) as u(job_no, task_no, run, scope)
        left join millrace.idempotency k on k.shard = copy_results.shard and k.scope = u.scope
        offset 0 -- keeps the outer join, and with it the plan
    ) c where c.result is not null;
  return shard;
end $$;

create function millrace.insert_steps(
  shard smallint, job_no bigint[], task_no integer[], run integer[], name text[], body text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.task_step (shard, job_no, task_no, run, name, body)
    select
      shard, unnest(job_no), unnest(task_no), unnest(run), unnest(name), unnest(body)
    on conflict do nothing;
  return shard;
end $$;

create function millrace.put_nodes(
  shard smallint, id text[], session_id text[], status text[], draining boolean[], slots integer[],
  executors text[], capabilities text[], address text[], version text[], quarantined_until timestamptz[],
  registered_at timestamptz[], seen_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if id is null then return shard; end if;
  insert into millrace.node as n (shard, id, session_id, status, draining, slots, executors, capabilities, address,
      version, quarantined_until, registered_at, seen_at)
    select
      shard, unnest(id), unnest(session_id), unnest(status), unnest(draining), unnest(slots),
      unnest(executors)::text[], unnest(capabilities), unnest(address), unnest(version),
      unnest(quarantined_until), unnest(registered_at), unnest(seen_at)
    on conflict on constraint node_pkey do update
      set session_id = excluded.session_id, status = excluded.status, draining = excluded.draining,
          slots = excluded.slots, executors = excluded.executors, capabilities = excluded.capabilities,
          address = excluded.address, version = excluded.version,
          quarantined_until = excluded.quarantined_until, registered_at = excluded.registered_at,
          seen_at = excluded.seen_at;
  return shard;
end $$;

create function millrace.delete_nodes(shard smallint, id text[]) returns smallint language plpgsql as $$
begin
  if id is null then return shard; end if;
  delete from millrace.node n where n.shard = delete_nodes.shard and n.id = any (delete_nodes.id);
  return shard;
end $$;

create function millrace.put_schedules(
  shard smallint, id text[], spec text[], paused boolean[], next_at timestamptz[], last_at timestamptz[],
  last_job_id text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if id is null then return shard; end if;
  insert into millrace.schedule as s (shard, id, spec, paused, next_at, last_at, last_job_id)
    select
      shard, unnest(id), unnest(spec), unnest(paused), unnest(next_at), unnest(last_at), unnest(last_job_id)
    on conflict on constraint schedule_pkey do update
      set spec = excluded.spec, paused = excluded.paused, next_at = excluded.next_at,
          last_at = excluded.last_at, last_job_id = excluded.last_job_id;
  return shard;
end $$;

create function millrace.delete_schedules(shard smallint, id text[]) returns smallint language plpgsql as $$
begin
  if id is null then return shard; end if;
  delete from millrace.schedule s where s.shard = delete_schedules.shard and s.id = any (delete_schedules.id);
  return shard;
end $$;

create function millrace.delete_inbox(shard smallint, no bigint[]) returns smallint language plpgsql as $$
begin
  if no is null then return shard; end if;
  delete from millrace.inbox i where i.shard = delete_inbox.shard and i.no = any (delete_inbox.no);
  return shard;
end $$;

create function millrace.insert_events(
  shard smallint, seq bigint[], at timestamptz[], kind smallint[], job_no bigint[], task_no integer[],
  node_id text[], run integer[], attempt integer[], fence bigint[], detail text[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if seq is null then return shard; end if;
  insert into millrace.event (shard, seq, at, kind, job_no, task_no, node_id, run, attempt, fence, detail)
    select
      shard, unnest(seq), unnest(at), unnest(kind), unnest(job_no), unnest(task_no), unnest(node_id),
      unnest(run), unnest(attempt), unnest(fence), unnest(detail);
  return shard;
end $$;
