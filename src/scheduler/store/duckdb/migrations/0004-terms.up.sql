-- Every term, and where the history was when it began. A place in the log is named by an event number and a
-- term: after a file was replaced by an older copy the same number means another event, the term does not.
-- The number of the commit counts from the opening of the file, as no other process writes to it.
create table term (
  shard integer not null,
  epoch bigint not null,
  term varchar not null,
  commit_no bigint not null,
  last_seq bigint not null,
  next_job_no bigint not null
);

insert into term select shard, epoch, term, 0, 0, 1 from shard;
