-- What the next leader must know of a limit per period: the tasks that were started in it, as JSON. A row lives as long
-- as its period.
create table millrace.limit_state (
  shard smallint not null,
  id text collate "C" not null,
  state text not null,
  primary key (shard, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

create function millrace.put_limits(shard smallint, id text[], state text[])
returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if id is null then return shard; end if;
  insert into millrace.limit_state as l (shard, id, state)
    select shard, unnest(id), unnest(state)
    on conflict on constraint limit_state_pkey do update set state = excluded.state;
  return shard;
end $$;

create function millrace.delete_limits(shard smallint, id text[]) returns smallint language plpgsql as $$
begin
  if id is null then return shard; end if;
  delete from millrace.limit_state l where l.shard = delete_limits.shard and l.id = any (delete_limits.id);
  return shard;
end $$;
