-- Earlier versions read columns only.
update millrace.event_chunk c set body = (
  select json_build_array(
      json_agg(e.kind::integer order by e.place), json_agg(e.ago::bigint order by e.place),
      json_agg(e.job_at::bigint order by e.place), json_agg(e.task_no::integer order by e.place),
      json_agg(e.node order by e.place), json_agg(e.run::integer order by e.place),
      json_agg(e.attempt::integer order by e.place), json_agg(e.fence::bigint order by e.place),
      json_agg(e.detail order by e.place))::text
    from millrace.event_lines(c.body::json, (c.last_seq - c.first_seq + 1)::integer) e)
 where c.body like '{%';

create or replace view millrace.events as
  select c.first_seq + e.place - 1 as seq,
      c.at - e.ago::bigint * interval '1 millisecond' as at,
      millrace.event_kind(e.kind::integer) as event,
      j.id as job, case when e.task_no is not null then coalesce(s.id, j.task_id) end as task,
      e.node, e.run::integer as run, e.attempt::integer as attempt, e.fence::bigint as fence, e.detail,
      c.at as commit_at
    from (select x.shard, x.first_seq, x.at, x.job_min, x.body::json as columns,
            (x.last_seq - x.first_seq + 1)::integer as events from millrace.event_chunk x) c
    join millrace.leader l on l.shard = c.shard
    cross join lateral unnest(
      millrace.event_cells(c.columns, 0, c.events), millrace.event_cells(c.columns, 1, c.events),
      millrace.event_cells(c.columns, 2, c.events), millrace.event_cells(c.columns, 3, c.events),
      millrace.event_cells(c.columns, 4, c.events), millrace.event_cells(c.columns, 5, c.events),
      millrace.event_cells(c.columns, 6, c.events), millrace.event_cells(c.columns, 7, c.events),
      millrace.event_cells(c.columns, 8, c.events))
      with ordinality as e(kind, ago, job_at, task_no, node, run, attempt, fence, detail, place)
    left join lateral (
      select x.id, x.no, x.task_id from millrace.job x
       where x.shard = c.shard and x.no = c.job_min + e.job_at::bigint) j on true
    left join lateral (
      select x.id from millrace.task_spec x
       where x.shard = c.shard and x.job_no = j.no and x.task_no = e.task_no::integer) s on true
   where c.first_seq + e.place - 1 >= l.first_seq;

drop function millrace.event_lines;
