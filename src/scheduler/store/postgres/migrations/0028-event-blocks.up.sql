-- A chunk of events may have blocks in place of columns: the events of one job, and the jobs that had the same. Both are read by
-- one function, in the order of the events.
create function millrace.event_lines(body json, events integer)
returns table (kind text, ago text, job_at text, task_no text, node text, run text, attempt text, fence text, detail text, place bigint)
immutable language plpgsql as $$
begin
  if json_typeof(body) = 'array' then
    return query select * from unnest(
      millrace.event_cells(body, 0, events), millrace.event_cells(body, 1, events),
      millrace.event_cells(body, 2, events), millrace.event_cells(body, 3, events),
      millrace.event_cells(body, 4, events), millrace.event_cells(body, 5, events),
      millrace.event_cells(body, 6, events), millrace.event_cells(body, 7, events),
      millrace.event_cells(body, 8, events)) with ordinality;
    return;
  end if;
  return query
    select e.cells ->> 0, e.cells ->> 1, j.at::text, e.cells ->> 2, e.cells ->> 3, e.cells ->> 4, e.cells ->> 5,
        e.cells ->> 6, e.cells ->> 7, row_number() over (order by b.no, j.run, j.at, e.no)
      from json_array_elements(body -> 'blocks') with ordinality as b(block, no)
      cross join lateral (
        select r.run, r.first + s.step as at
          from (select r.run, (b.block #>> array['0', (2 * r.run)::text])::bigint as first,
                  (b.block #>> array['0', (2 * r.run + 1)::text])::bigint as jobs
                  from generate_series(0, json_array_length(
                    case when json_typeof(b.block -> 0) = 'array' then b.block -> 0 else '[]' end) / 2 - 1) as r(run)) r
          cross join lateral generate_series(0, r.jobs - 1) as s(step)
        union all
        select 0, null where json_typeof(b.block -> 0) = 'null') j
      cross join lateral json_array_elements(b.block -> 1) with ordinality as e(cells, no);
end $$;

-- As in 0024.
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
    cross join lateral millrace.event_lines(c.columns, c.events) e
    left join lateral (
      select x.id, x.no, x.task_id from millrace.job x
       where x.shard = c.shard and x.no = c.job_min + e.job_at::bigint) j on true
    left join lateral (
      select x.id from millrace.task_spec x
       where x.shard = c.shard and x.job_no = j.no and x.task_no = e.task_no::integer) s on true
   where c.first_seq + e.place - 1 >= l.first_seq;
