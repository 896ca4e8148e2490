-- A job is pruned in two parts, because what hangs on it may be gigabytes and commits wait for a prune. First its row
-- goes, under the fence, and its number is noted: from then on the job is not there. What hung on it is swept later,
-- in portions, on a connection that no commit waits for. Numbers are never given out again, so nothing can be swept
-- that is still wanted.
create table millrace.pruned_job (
  shard smallint not null,
  no bigint not null,
  primary key (shard, no)
);

create or replace function millrace.prune(
  in shard smallint, in epoch bigint, in term text,
  in job_no bigint[], in jobs_before timestamptz,
  in scope text[], in first_seq bigint,
  out jobs integer, out keys integer, out events bigint
) language plpgsql as $$
#variable_conflict use_variable
begin
  perform millrace.check_reign(shard, epoch, term);

  with deleted as (
    delete from millrace.job j
     where j.shard = prune.shard and j.no = any (job_no) and j.finished_at < jobs_before
    returning j.no
  )
  insert into millrace.pruned_job select prune.shard, d.no from deleted d;
  get diagnostics jobs = row_count;

  delete from millrace.idempotency k
   where k.shard = prune.shard and k.scope = any (scope) and k.state = 'completed'
     and not millrace.is_named(k.shard, k.scope);
  get diagnostics keys = row_count;

  events := millrace.forget_events(shard, first_seq);
end $$;

-- With the size of what goes with the row itself.
drop function millrace.old_jobs;
create function millrace.old_jobs(shard smallint, cutoff timestamptz, max_jobs integer)
returns table (no bigint, bytes bigint)
stable language plpgsql set enable_bitmapscan = on as $$
begin
  return query select j.no, coalesce(octet_length(j.output), 0)::bigint from millrace.job j
    where j.shard = old_jobs.shard and j.finished_at < cutoff
      and not (position('.' in j.id) > 0 and millrace.is_live(regexp_replace(j.id, '[.][^.]*$', '')))
    limit max_jobs;
end $$;

-- Removes some of what hung on pruned jobs: so many rows of a table, or fewer when they are large, and one at least.
-- True when there is more. The size of a value is known without reading it.
create function millrace.sweep(shard smallint, max_jobs integer, max_rows integer, max_bytes bigint)
returns boolean language plpgsql as $$
declare
  numbers bigint[] := array(
    select p.no from millrace.pruned_job p where p.shard = sweep.shard order by p.no limit max_jobs
  );
  swept record;
  gone integer;
begin
  if cardinality(numbers) = 0 then
    return false;
  end if;
  for swept in
    select * from (values
      ('task_result', 'octet_length(x.body)'),
      ('task_step', 'octet_length(x.body)'),
      ('signal', 'octet_length(x.body)'),
      ('task_spec', 'coalesce(octet_length(x.input), 0)'),
      ('task_history', '0'),
      ('task', '0')
    ) as t (name, bytes)
  loop
    execute format(
      'delete from millrace.%1$I t using (
         select f.at from (
           select x.ctid as at, %2$s as bytes, sum(%2$s) over (rows unbounded preceding) as total
             from (select y.ctid, y.* from millrace.%1$I y
                    where y.shard = $1 and y.job_no = any ($2) limit $3) x
         ) f where f.total - f.bytes < $4
       ) d where t.ctid = d.at', swept.name, swept.bytes)
      using sweep.shard, numbers, max_rows, max_bytes;
    get diagnostics gone = row_count;
    -- Perhaps not all: the next call goes on here.
    if gone > 0 then
      return true;
    end if;
  end loop;
  delete from millrace.pruned_job p where p.shard = sweep.shard and p.no = any (numbers);
  return true;
end $$;
