-- `slots` was what a worker may hold, prefetched tasks included, and the number that it runs at a time was the
-- capability `slots`. Now `slots` is that number, and `prefetch` is what it may hold beyond it. The table is made
-- anew, because rows go into it by the places of the columns.

alter table node rename to node_before;
create table node (
  shard integer not null,
  id varchar not null,
  session_id varchar not null,
  status varchar not null check (status in ('healthy', 'stale', 'dead')),
  draining boolean not null,
  slots integer not null,
  prefetch integer not null,
  executors varchar[] not null,
  capabilities varchar not null,
  address varchar,
  version varchar not null,
  quarantined_until bigint,
  registered_at bigint not null,
  seen_at bigint not null
);
insert into node by name
  select n.* exclude (said) replace (said as slots), n.slots - said as prefetch
    from (
      select *, least(
          slots, coalesce(try_cast(regexp_extract(capabilities, '"slots":([0-9]{1,9})[,}]', 1) as integer), slots)
        ) as said
        from node_before
    ) n;
drop table node_before;
