-- The custom operators and functions that workers have declared. One is known from its first registration on, so that
-- queries that use it can be planned while no worker has it.

create table millrace.operator (
  shard smallint not null,
  id text not null,
  -- JSON.
  declaration text not null,
  primary key (shard, id)
);

create function millrace.change_operators(
  shard smallint, epoch bigint, term text, id text[], declaration text[], removed text[]
) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  perform millrace.check_reign(shard, epoch, term);
  delete from millrace.operator o where o.shard = change_operators.shard and o.id = any (removed);
  insert into millrace.operator as o (shard, id, declaration)
    select shard, unnest(id), unnest(declaration)
    on conflict on constraint operator_pkey do update set declaration = excluded.declaration;
end $$;
