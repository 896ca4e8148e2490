-- The flows that workers have published. One is known from its first registration on, so that jobs can be started by
-- its name while no worker has it.

create table millrace.flow (
  shard smallint not null,
  id text not null,
  -- JSON: its versions, the newest first.
  declaration text not null,
  primary key (shard, id)
);

create function millrace.change_flows(
  shard smallint, epoch bigint, term text, id text[], declaration text[], removed text[]
) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  perform millrace.check_reign(shard, epoch, term);
  delete from millrace.flow f where f.shard = change_flows.shard and f.id = any (removed);
  insert into millrace.flow as f (shard, id, declaration)
    select shard, unnest(id), unnest(declaration)
    on conflict on constraint flow_pkey do update set declaration = excluded.declaration;
end $$;
