alter table node rename to node_before;
create table node (
  shard integer not null,
  id varchar not null,
  session_id varchar not null,
  status varchar not null check (status in ('healthy', 'stale', 'dead')),
  draining boolean not null,
  slots integer not null,
  executors varchar[] not null,
  capabilities varchar not null,
  address varchar,
  version varchar not null,
  quarantined_until bigint,
  registered_at bigint not null,
  seen_at bigint not null
);
insert into node by name
  select * exclude (prefetch) replace (
      slots + prefetch as slots,
      case
        when contains(capabilities, '"slots":') then capabilities
        when capabilities = '{}' then '{"slots":' || slots || '}'
        else '{"slots":' || slots || ',' || substring(capabilities, 2)
      end as capabilities)
    from node_before;
drop table node_before;
