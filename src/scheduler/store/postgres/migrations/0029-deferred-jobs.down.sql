-- Older builds look for every job in the tables: `millrace migrate down` folds the journal first.
do $$
begin
  perform from millrace.journal_fold f where f.settled_no < f.commit_no;
  if found then
    raise exception 'the journal has jobs that are not in the tables; run `millrace migrate down`, which folds them';
  end if;
end $$;

drop function millrace.begin_fold;

create function millrace.begin_fold(shard smallint, after bigint, commit_no bigint, term text)
returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  if after = 0 then
    insert into millrace.journal_fold values (shard, 0) on conflict do nothing;
  end if;
  update millrace.journal_fold f set commit_no = begin_fold.commit_no
   where f.shard = begin_fold.shard and f.commit_no = after
     and exists (select from millrace.journal j
                  where j.shard = begin_fold.shard and j.commit_no = begin_fold.commit_no and j.term = begin_fold.term);
  if not found then
    raise exception using errcode = 'MR004', message = format('the tables are not at commit %s', after);
  end if;
  return shard;
end $$;

create or replace function millrace.trim_journal(part integer) returns boolean language plpgsql as $$
declare
  needed boolean;
begin
  execute format('lock table millrace.journal_%s in access exclusive mode', part);
  execute format('select exists (select from millrace.journal_%s j left join millrace.journal_fold f
    on f.shard = j.shard where j.commit_no > coalesce(f.commit_no, 0))', part) into needed;
  if not needed then execute format('truncate millrace.journal_%s', part); end if;
  return not needed;
end $$;

alter table millrace.journal_fold drop column settled_no;
