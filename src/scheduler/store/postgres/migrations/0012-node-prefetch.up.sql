-- `slots` was what a worker may hold, prefetched tasks included, and the number that it runs at a time was the
-- capability `slots`. Now `slots` is that number, and `prefetch` is what it may hold beyond it.

alter table millrace.node add column prefetch integer not null default 0 check (prefetch >= 0);

update millrace.node n
   set slots = said.slots, prefetch = n.slots - said.slots
  from (
    select shard, id, least(slots, substring(capabilities from '"slots":([0-9]{1,9})[,}]')::integer) as slots
      from millrace.node
  ) said
 where n.shard = said.shard and n.id = said.id;

drop function millrace.put_nodes;

create function millrace.put_nodes(
  shard smallint, id text[], session_id text[], status text[], draining boolean[], slots integer[],
  prefetch integer[], executors text[], capabilities text[], address text[], version text[],
  quarantined_until timestamptz[], registered_at timestamptz[], seen_at timestamptz[]
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if id is null then return shard; end if;
  insert into millrace.node as n (shard, id, session_id, status, draining, slots, prefetch, executors,
      capabilities, address, version, quarantined_until, registered_at, seen_at)
    select
      shard, unnest(id), unnest(session_id), unnest(status), unnest(draining), unnest(slots), unnest(prefetch),
      unnest(executors)::text[], unnest(capabilities), unnest(address), unnest(version),
      unnest(quarantined_until), unnest(registered_at), unnest(seen_at)
    on conflict on constraint node_pkey do update
      set session_id = excluded.session_id, status = excluded.status, draining = excluded.draining,
          slots = excluded.slots, prefetch = excluded.prefetch, executors = excluded.executors,
          capabilities = excluded.capabilities, address = excluded.address, version = excluded.version,
          quarantined_until = excluded.quarantined_until, registered_at = excluded.registered_at,
          seen_at = excluded.seen_at;
  return shard;
end $$;
