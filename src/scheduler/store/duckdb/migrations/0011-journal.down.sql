alter table shard drop column commit_no;
