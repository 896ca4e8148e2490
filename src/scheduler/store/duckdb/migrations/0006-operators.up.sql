-- The custom operators and functions that workers have declared. One is known from its first registration on, so that
-- queries that use it can be planned while no worker has it.

create table operator (
  shard integer not null,
  id varchar not null,
  declaration varchar not null
);
