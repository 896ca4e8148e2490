-- The rows of new jobs come by COPY: to make rows of an array for each column took PostgreSQL more than twice as long. What else
-- a new job has is inserted here.
drop function millrace.insert_jobs;

create function millrace.insert_live(shard smallint, no bigint[], priority smallint[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
begin
  if no is null then return shard; end if;
  insert into millrace.job_live (shard, no, priority) select shard, unnest(no), unnest(priority);
  return shard;
end $$;

create function millrace.insert_labels(shard smallint, job_no bigint[], label text[]) returns smallint
language plpgsql as $$
#variable_conflict use_variable
begin
  if job_no is null then return shard; end if;
  insert into millrace.job_label (shard, job_no, label) select shard, unnest(job_no), unnest(label);
  return shard;
end $$;
