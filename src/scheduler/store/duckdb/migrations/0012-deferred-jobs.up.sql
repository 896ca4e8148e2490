-- A fold may leave out jobs that go on: all that came up to this commit is in the tables, and of jobs that came later and are
-- not there, the journal has the rows. Null: as far as the commits.
alter table shard add column settled_no bigint;
