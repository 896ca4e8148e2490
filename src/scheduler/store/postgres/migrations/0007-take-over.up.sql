-- Taking over from a leader whose process is gone, before its time is up.
--
-- The leader's connection stands in its row, as process id and start, and holds the advisory lock of the
-- shard. When the process dies the server ends both at once. A candidate that finds the lock free may
-- depose the epoch whose recorded backend no longer exists, and no other: a leader that made
-- its connection anew has said so in the row (stand), and one behind a pooler stands for nothing there,
-- since its connection is not its own. For these the time decides, as ever.

-- Locks of two numbers: "mill" read as bytes, and the shard.
create function millrace.lock_space() returns integer language sql immutable as 'select 1835625580';

-- A process id comes back after a while, so the start is compared as well. Who may not see when
-- another role's backend started is told that it is still there.
create function millrace.is_gone(pid integer, start timestamptz) returns boolean language sql as $$
  select pid is not null and start is not null and not exists (
    select from pg_stat_get_activity(pid) a where a.backend_start is null or a.backend_start = start)
$$;

-- What a candidate looks at again and again. The lock is only touched: waiting for it in a statement would
-- hold back the clean-up of every table for as long as the leader lives.
create function millrace.is_deserted(shard smallint, pid integer, start timestamptz) returns boolean
language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock_shared(millrace.lock_space(), shard) then return false; end if;
  return millrace.is_gone(pid, start);
end $$;

-- Takes the shard's lock for this session, once. A candidate that looks holds it for a moment only.
create function millrace.hold_shard(shard smallint) returns boolean
language plpgsql set lock_timeout = '200ms' as $$
begin
  if exists (select from pg_locks k where k.locktype = 'advisory' and k.pid = pg_backend_pid()
      and k.classid = millrace.lock_space() and k.objid = shard and k.objsubid = 2
      and k.mode = 'ExclusiveLock') then
    return true;
  end if;
  perform pg_advisory_lock(millrace.lock_space(), shard);
  return true;
exception when lock_not_available then
  -- Nobody has to hold it: without it candidates look at the backend itself.
  return false;
end $$;

-- From now on this connection speaks for the reign. False when the reign is over.
create function millrace.stand(shard smallint, epoch bigint, term text) returns boolean
language plpgsql as $$
begin
  perform millrace.hold_shard(shard);
  update millrace.leader l set backend_pid = pg_backend_pid(), backend_start = millrace.backend_start()
   where l.shard = stand.shard and l.epoch = stand.epoch and l.term = stand.term and not l.released;
  if found then return true; end if;
  perform pg_advisory_unlock(millrace.lock_space(), shard);
  return false;
end $$;

-- A leader that was stopped in the middle of a transaction holds its row's lock and would keep everybody
-- out. Its time is up, so its connection may go; without the right to end it, its timeouts will.
create function millrace.end_backend(pid integer, start timestamptz) returns void
language plpgsql as $$
begin
  perform pg_terminate_backend(a.pid) from pg_stat_get_activity(end_backend.pid) a
    where a.pid <> pg_backend_pid() and a.backend_start = end_backend.start;
exception when insufficient_privilege then null;
end $$;

create function millrace.is_free(leader millrace.leader, vacated bigint) returns boolean
language sql as $$
  select leader.released or leader.expires_at <= now()
      or leader.epoch is not distinct from vacated and millrace.is_gone(leader.backend_pid, leader.backend_start)
$$;

drop function millrace.campaign(smallint, text, text, text, text, bigint);

-- Takes the shard if it is free, released, expired or deserted, with the next epoch; otherwise says who
-- leads. `vacated` is the epoch that the candidate has found deserted. Looking first keeps candidates, who
-- ask again and again, from locking the row that commits need. `previous` is who was deposed.
create function millrace.campaign(
  in shard smallint, in term text, in node_id text, in url text, in grpc text, in ttl_ms bigint,
  in is_direct boolean, in vacated bigint,
  out won boolean, out leader millrace.leader, out previous millrace.leader, out previous_gone boolean
) language plpgsql as $$
#variable_conflict use_variable
declare
  pid integer := case when is_direct then pg_backend_pid() end;
  start timestamptz := case when is_direct then millrace.backend_start() end;
  until timestamptz := now() + ttl_ms * interval '1 millisecond';
begin
  insert into millrace.leader as l
      (shard, epoch, term, node_id, url, grpc, expires_at, backend_pid, backend_start)
    select shard, 1, term, node_id, url, grpc, until, pid, start
     where not exists (select from millrace.leader x where x.shard = campaign.shard)
    on conflict on constraint leader_pkey do nothing
    returning l.* into leader;
  won := found;
  if won then return; end if;
  select l.* into leader from millrace.leader l where l.shard = campaign.shard;
  if not millrace.is_free(leader, vacated) then return; end if;
  if not leader.released and leader.expires_at <= now() then
    perform millrace.end_backend(leader.backend_pid, leader.backend_start);
  end if;
  select l.* into leader from millrace.leader l where l.shard = campaign.shard for no key update;
  won := millrace.is_free(leader, vacated);
  if not won then return; end if;
  if not leader.released then
    previous := leader;
    previous_gone := leader.epoch is not distinct from vacated
      and millrace.is_gone(leader.backend_pid, leader.backend_start);
  end if;
  update millrace.leader l
     set epoch = l.epoch + 1, released = false, term = campaign.term, node_id = campaign.node_id,
         url = campaign.url, grpc = campaign.grpc, expires_at = until,
         backend_pid = pid, backend_start = start
   where l.shard = campaign.shard
  returning l.* into leader;
end $$;

-- Null when the reign is over. Which connection speaks for it is for stand() to say.
create or replace function millrace.renew(shard smallint, epoch bigint, term text, ttl_ms bigint)
returns timestamptz language sql as $$
  update millrace.leader l set expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = renew.shard and l.epoch = renew.epoch and l.term = renew.term and not l.released
  returning now()
$$;

-- Transactional enqueue, see migration 0005. With an idempotency key that is known the answer is the
-- first job's id, whether it is still in the inbox or was made already. Of two transactions that submit the
-- same key at once the second waits for the first to end, as with any unique key: if it commits, both
-- have the same id; if it is rolled back, the second one's job counts. A transaction that reads one
-- snapshot throughout (repeatable read) fails with a serialization failure instead, and may be repeated.
alter table millrace.inbox add column idempotency_key text collate "C";
create unique index inbox_key on millrace.inbox (idempotency_key, shard) where idempotency_key is not null;

create function millrace.job_id_for(key text) returns text
language sql set search_path = pg_catalog, pg_temp as $$
  select j.id from millrace.job j where j.idempotency_key = key and j.shard = 0
$$;

create or replace function millrace.submit(document jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  bytes bytea := overlay(uuid_send(gen_random_uuid()) placing substring(int8send(ms) from 3) from 1 for 6);
  id text := encode(set_byte(bytes, 6, (get_byte(bytes, 6) & 15) | 112), 'hex')::uuid;
  -- One that a document may not have makes a failed job of its own each time, so that its owner sees why.
  key text := case when jsonb_typeof(document -> 'idempotencyKey') = 'string'
    and length(document ->> 'idempotencyKey') <= 200 then document ->> 'idempotencyKey' end;
  first text;
begin
  if document is null then
    raise exception using errcode = 'null_value_not_allowed', message = 'a job document cannot be null';
  end if;
  loop
    first := millrace.job_id_for(key);
    if first is not null then return first; end if;
    insert into millrace.inbox (shard, job_id, document, idempotency_key)
      values (0, id, document::text, key)
      on conflict (idempotency_key, shard) where idempotency_key is not null do nothing;
    exit when found;
    select i.job_id into first from millrace.inbox i where i.idempotency_key = key and i.shard = 0;
    if found then return first; end if;
    -- It has become a job between the two looks.
  end loop;
  -- The leader may have made the first one's job since the first look, which let this row in.
  first := millrace.job_id_for(key);
  if first is not null then
    delete from millrace.inbox i where i.shard = 0 and i.job_id = id;
    return first;
  end if;
  perform pg_notify('millrace_inbox', '0');
  return id;
end $$;
