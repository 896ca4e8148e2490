-- The flows that workers have published. One is known from its first registration on, so that jobs can be started by
-- its name while no worker has it.

create table flow (
  shard integer not null,
  id varchar not null,
  declaration varchar not null
);
