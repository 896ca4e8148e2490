-- What the next leader must know of a limit per period: the tasks that were started in it, as JSON. A row lives as long
-- as its period.
create table limit_state (
  shard integer not null,
  id varchar not null,
  state varchar not null
);
