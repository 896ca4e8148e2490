-- A leader notices that the history was rewound: a fail-over to a replica that lacks the last commits, or a
-- restored backup, while it lives. Commits of a shard are numbered, and the fence takes only the next one.
-- SQLSTATE MR003: the term leads, but the store is not at the commit that it has made last.
alter table millrace.leader add column commit_no bigint not null default 0;

-- Every term, and where the history was when it began. A place in the log is named by an event number and a
-- term: after a rewind the same number means another event, while a term is in one history only.
create table millrace.term (
  shard smallint not null,
  epoch bigint not null,
  commit_no bigint not null,
  last_seq bigint not null,
  next_job_no bigint not null,
  term text not null,
  node_id text not null,
  began_at timestamptz not null default now(),
  primary key (shard, epoch)
);

insert into millrace.term (shard, epoch, commit_no, last_seq, next_job_no, term, node_id)
  select l.shard, l.epoch, 0, 0, 1, l.term, l.node_id from millrace.leader l;

create function millrace.refuse_rewound(shard smallint, commit_no bigint) returns void language plpgsql as $$
begin
  raise exception using errcode = 'MR003', message = format('the store is at commit %s, not at %s',
    (select l.commit_no from millrace.leader l where l.shard = refuse_rewound.shard), commit_no);
end $$;

drop function millrace.fence;

create function millrace.fence(
  shard smallint, epoch bigint, term text, ttl_ms bigint, commit_no bigint, last_seq bigint, events integer,
  next_job_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  update millrace.leader l
     set commit_no = fence.commit_no, last_seq = fence.last_seq, next_job_no = fence.next_job_no,
         expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = fence.shard and l.epoch = fence.epoch and l.term = fence.term and not l.released
     and l.commit_no + 1 = fence.commit_no
     and l.last_seq + events = fence.last_seq and l.next_job_no <= fence.next_job_no;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform from millrace.leader l where l.shard = fence.shard and l.commit_no + 1 = fence.commit_no;
    if not found then perform millrace.refuse_rewound(shard, commit_no - 1); end if;
    perform millrace.refuse('the counters do not follow on those that are stored');
  end if;
  return shard;
end $$;

drop function millrace.renew;

-- Which connection speaks for the reign is for stand() to say. A commit that is under way may be ahead.
create function millrace.renew(shard smallint, epoch bigint, term text, ttl_ms bigint, commit_no bigint)
returns timestamptz language plpgsql as $$
#variable_conflict use_variable
begin
  update millrace.leader l set expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = renew.shard and l.epoch = renew.epoch and l.term = renew.term and not l.released
     and l.commit_no >= renew.commit_no;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform millrace.refuse_rewound(shard, commit_no);
  end if;
  return now();
end $$;

-- Only a campaign adds a term, so it also forgets: those whose events are all past retention, and all but the
-- newest thousand.
create function millrace.record_term(leader millrace.leader) returns void language plpgsql as $$
begin
  insert into millrace.term (shard, epoch, commit_no, last_seq, next_job_no, term, node_id)
    values (leader.shard, leader.epoch, leader.commit_no, leader.last_seq, leader.next_job_no, leader.term,
            leader.node_id);
  delete from millrace.term t where t.shard = leader.shard and (
    exists (select from millrace.term n
             where n.shard = t.shard and n.epoch > t.epoch and n.last_seq + 1 < leader.first_seq)
    or t.epoch < (select min(k.epoch) from (select x.epoch from millrace.term x
                   where x.shard = leader.shard order by x.epoch desc limit 1000) k));
end $$;

drop function millrace.campaign;

-- As before (migration 0007), and the epoch is `above` what the candidate has seen.
create function millrace.campaign(
  in shard smallint, in term text, in node_id text, in url text, in grpc text, in ttl_ms bigint,
  in is_direct boolean, in vacated bigint, in above bigint,
  out won boolean, out leader millrace.leader, out previous millrace.leader, out previous_gone boolean
) language plpgsql as $$
#variable_conflict use_variable
declare
  pid integer := case when is_direct then pg_backend_pid() end;
  start timestamptz := case when is_direct then millrace.backend_start() end;
  until timestamptz := now() + ttl_ms * interval '1 millisecond';
begin
  insert into millrace.leader as l
      (shard, epoch, term, node_id, url, grpc, expires_at, backend_pid, backend_start)
    select shard, above + 1, term, node_id, url, grpc, until, pid, start
     where not exists (select from millrace.leader x where x.shard = campaign.shard)
    on conflict on constraint leader_pkey do nothing
    returning l.* into leader;
  won := found;
  if won then
    perform millrace.record_term(leader);
    return;
  end if;
  select l.* into leader from millrace.leader l where l.shard = campaign.shard;
  if not millrace.is_free(leader, vacated) then return; end if;
  if not leader.released and leader.expires_at <= now() then
    perform millrace.end_backend(leader.backend_pid, leader.backend_start);
  end if;
  select l.* into leader from millrace.leader l where l.shard = campaign.shard for no key update;
  won := millrace.is_free(leader, vacated);
  if not won then return; end if;
  if not leader.released then
    previous := leader;
    previous_gone := leader.epoch is not distinct from vacated
      and millrace.is_gone(leader.backend_pid, leader.backend_start);
  end if;
  update millrace.leader l
     set epoch = greatest(l.epoch, above) + 1, released = false, term = campaign.term,
         node_id = campaign.node_id, url = campaign.url, grpc = campaign.grpc, expires_at = until,
         backend_pid = pid, backend_start = start
   where l.shard = campaign.shard
  returning l.* into leader;
  perform millrace.record_term(leader);
end $$;
