-- A fold may leave out jobs that have just begun and go on: most are written once then, when they have ended. All that came up to
-- commit `settled_no` is in the tables; of jobs that came later and are not there, the journal has the rows. Null: as far as
-- `commit_no`.
alter table millrace.journal_fold add column settled_no bigint;

drop function millrace.begin_fold;

-- As in 0020.
create function millrace.begin_fold(
  shard smallint, after bigint, settled_before bigint, commit_no bigint, term text, settled_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if after = 0 then
    insert into millrace.journal_fold values (shard, 0) on conflict do nothing;
  end if;
  update millrace.journal_fold f
     set commit_no = begin_fold.commit_no, settled_no = nullif(begin_fold.settled_no, begin_fold.commit_no)
   where f.shard = begin_fold.shard and f.commit_no = after and coalesce(f.settled_no, f.commit_no) = settled_before
     and exists (select from millrace.journal j
                  where j.shard = begin_fold.shard and j.commit_no = begin_fold.commit_no and j.term = begin_fold.term);
  if not found then
    raise exception using errcode = 'MR004', message = format('the tables are not at commit %s', after);
  end if;
  return shard;
end $$;

-- As in 0020: records that may be needed stay.
create or replace function millrace.trim_journal(part integer) returns boolean language plpgsql as $$
declare
  needed boolean;
begin
  execute format('lock table millrace.journal_%s in access exclusive mode', part);
  execute format('select exists (select from millrace.journal_%s j left join millrace.journal_fold f
    on f.shard = j.shard where j.commit_no > coalesce(f.settled_no, f.commit_no, 0))', part) into needed;
  if not needed then execute format('truncate millrace.journal_%s', part); end if;
  return not needed;
end $$;
