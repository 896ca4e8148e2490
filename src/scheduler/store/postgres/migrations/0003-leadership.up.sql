-- Takes the shard if it is free, released or expired, with the next epoch; otherwise says who leads.
-- Looking first keeps candidates, who ask again and again, from locking the row that commits need.
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

-- A process id comes back after a while; with its start it names one backend.
create function millrace.backend_start() returns timestamptz language sql as $$
  select a.backend_start from pg_stat_get_activity(pg_backend_pid()) a
$$;

-- Null when the reign is over. The connection may have changed since the campaign.
create function millrace.renew(shard smallint, epoch bigint, term text, ttl_ms bigint) returns timestamptz
language sql as $$
  update millrace.leader l
     set expires_at = now() + ttl_ms * interval '1 millisecond',
         backend_pid = pg_backend_pid(), backend_start = millrace.backend_start()
   where l.shard = renew.shard and l.epoch = renew.epoch and l.term = renew.term and not l.released
  returning now()
$$;
