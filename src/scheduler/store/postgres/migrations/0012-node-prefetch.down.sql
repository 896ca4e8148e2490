drop function millrace.put_nodes;

update millrace.node
   set capabilities = '{"slots":' || slots || case capabilities when '{}' then '}' else ',' || substring(capabilities from 2) end
 where capabilities !~ '"slots":';
update millrace.node set slots = slots + prefetch;
alter table millrace.node drop column prefetch;

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
