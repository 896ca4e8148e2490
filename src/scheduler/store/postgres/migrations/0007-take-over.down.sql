create or replace function millrace.submit(document jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  bytes bytea := overlay(uuid_send(gen_random_uuid()) placing substring(int8send(ms) from 3) from 1 for 6);
  id text := encode(set_byte(bytes, 6, (get_byte(bytes, 6) & 15) | 112), 'hex')::uuid;
begin
  if document is null then
    raise exception using errcode = 'null_value_not_allowed', message = 'a job document cannot be null';
  end if;
  insert into millrace.inbox (shard, job_id, document) values (0, id, document::text);
  perform pg_notify('millrace_inbox', '0');
  return id;
end $$;
drop function millrace.job_id_for(text);
drop index millrace.inbox_key;
alter table millrace.inbox drop column idempotency_key;

drop function millrace.campaign(smallint, text, text, text, text, bigint, boolean, bigint);
drop function millrace.is_free(millrace.leader, bigint);
drop function millrace.end_backend(integer, timestamptz);
drop function millrace.stand(smallint, bigint, text);
drop function millrace.hold_shard(smallint);
drop function millrace.is_deserted(smallint, integer, timestamptz);
drop function millrace.is_gone(integer, timestamptz);
drop function millrace.lock_space();

create function millrace.campaign(
  in shard smallint, in term text, in node_id text, in url text, in grpc text, in ttl_ms bigint,
  out won boolean, out leader millrace.leader
) language plpgsql as $$
#variable_conflict use_variable
begin
  select l.* into leader from millrace.leader l where l.shard = campaign.shard;
  won := not found or leader.released or leader.expires_at <= now();
  if not won then return; end if;
  insert into millrace.leader as l
      (shard, epoch, term, node_id, url, grpc, expires_at, backend_pid, backend_start)
    values (shard, 1, term, node_id, url, grpc, now() + ttl_ms * interval '1 millisecond',
      pg_backend_pid(), millrace.backend_start())
    on conflict on constraint leader_pkey do update
      set epoch = l.epoch + 1, released = false, term = excluded.term, node_id = excluded.node_id,
          url = excluded.url, grpc = excluded.grpc, expires_at = excluded.expires_at,
          backend_pid = excluded.backend_pid, backend_start = excluded.backend_start
      where l.released or l.expires_at <= now()
    returning l.* into leader;
  won := found;
  if not won then
    select l.* into leader from millrace.leader l where l.shard = campaign.shard;
  end if;
end $$;

create or replace function millrace.renew(shard smallint, epoch bigint, term text, ttl_ms bigint)
returns timestamptz language sql as $$
  update millrace.leader l
     set expires_at = now() + ttl_ms * interval '1 millisecond',
         backend_pid = pg_backend_pid(), backend_start = millrace.backend_start()
   where l.shard = renew.shard and l.epoch = renew.epoch and l.term = renew.term and not l.released
  returning now()
$$;
