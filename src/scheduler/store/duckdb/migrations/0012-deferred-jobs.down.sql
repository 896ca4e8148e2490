alter table shard drop column settled_no;
