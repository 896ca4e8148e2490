-- The log in chunks: a row holds up to 500 events of one commit as columns in JSON text, see
-- event-chunk.ts. `happened_at` is that of the newest.
create table event_chunk (
  shard integer not null,
  first_seq bigint not null,
  last_seq bigint not null,
  happened_at bigint not null,
  job_min bigint,
  job_max bigint,
  body varchar not null
);

insert into event_chunk
  select shard, min(seq), max(seq), any_value(newest), any_value(job_first), max(job_no), to_json([
      to_json(list(kind order by seq)),
      to_json(list(newest - happened_at order by seq)),
      to_json(list(job_no - job_first order by seq)),
      to_json(list(task_no order by seq)),
      to_json(list(node_id order by seq)),
      to_json(list(run order by seq)),
      to_json(list(attempt order by seq)),
      to_json(list(fence order by seq)),
      to_json(list(detail order by seq))
    ])::varchar
    from (
      select *, max(happened_at) over w as newest, min(job_no) over w as job_first from event
      window w as (partition by shard, (seq - 1) // 500)
    )
   group by shard, (seq - 1) // 500
   order by 1, 2;

-- The oldest event that is kept: it may stand in the middle of a chunk.
create table shard_with_first as
  select s.*, coalesce((select min(seq) from event e where e.shard = s.shard), s.last_seq + 1) as first_seq
    from shard s;
drop table shard;
create table shard (
  shard integer not null,
  epoch bigint not null,
  term varchar not null,
  -- Floors: the events and jobs that are stored may already be beyond.
  last_seq bigint not null,
  next_job_no bigint not null,
  first_seq bigint not null
);
insert into shard from shard_with_first;
drop table shard_with_first;
drop table event;
