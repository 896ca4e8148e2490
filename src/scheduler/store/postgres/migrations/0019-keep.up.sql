-- Jobs that ended in a way in which they are not kept, for an early prune: see `keep` in a job document. The text of
-- their options says so, and it never changes, so neither a state nor an end writes an index entry. The other jobs are
-- not in the index.
create index job_unkept on millrace.job (shard, no) where position('"keep":' in options) > 0;

create function millrace.unkept_jobs(shard smallint, since timestamptz, cutoff timestamptz, max_jobs integer)
returns table (no bigint, bytes bigint) stable language sql as $$
  select j.no, coalesce(octet_length(j.output), 0)::bigint from millrace.job j
   where j.shard = unkept_jobs.shard and position('"keep":' in j.options) > 0 and j.finished_at >= since
     and j.finished_at < cutoff and (j.state = 2 or position('"keep":"none"' in j.options) > 0)
     and not (position('.' in j.id) > 0 and millrace.is_live(regexp_replace(j.id, '[.][^.]*$', '')))
   order by j.no limit max_jobs
$$;
