create table event (
  shard integer not null,
  seq bigint not null,
  happened_at bigint not null,
  -- The position in LOG_KINDS.
  kind integer not null,
  job_no bigint,
  task_no integer,
  node_id varchar,
  run integer,
  attempt integer,
  fence integer,
  detail varchar
);

-- A value of a chunk: the column's only one, or that of the row.
create temp macro cell(body, place, nth) as case json_type(body, concat('$[', place, ']'))
  when 'ARRAY' then json_extract_string(body, concat('$[', place, '][', nth, ']'))
  else json_extract_string(body, concat('$[', place, ']'))
end;

insert into event
  select c.shard, c.first_seq + c.nth, c.happened_at - cell(c.body, 1, c.nth)::bigint,
         cell(c.body, 0, c.nth)::integer, c.job_min + cell(c.body, 2, c.nth)::bigint,
         cell(c.body, 3, c.nth)::integer, cell(c.body, 4, c.nth), cell(c.body, 5, c.nth)::integer,
         cell(c.body, 6, c.nth)::integer, cell(c.body, 7, c.nth)::integer, cell(c.body, 8, c.nth)
    from (select *, unnest(range(last_seq - first_seq + 1)) as nth from event_chunk) c
    join shard s on s.shard = c.shard and c.first_seq + c.nth >= s.first_seq
   order by 1, 2;

drop macro cell;
drop table event_chunk;
alter table shard drop column first_seq;
