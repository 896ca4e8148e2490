-- A commit is a line in a journal beside this file, and the tables follow behind: this is the last commit that they
-- have. Commits were counted from the opening of the file before; from now on they are counted on.
alter table shard add column commit_no bigint default 0;
