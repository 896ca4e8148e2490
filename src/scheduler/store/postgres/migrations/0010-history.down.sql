drop function millrace.campaign;
drop function millrace.record_term;
drop function millrace.renew;
drop function millrace.fence;
drop function millrace.refuse_rewound;
drop table millrace.term;
alter table millrace.leader drop column commit_no;

create function millrace.fence(
  shard smallint, epoch bigint, term text, ttl_ms bigint, last_seq bigint, events integer, next_job_no bigint
) returns smallint language plpgsql as $$
#variable_conflict use_variable
begin
  update millrace.leader l
     set last_seq = fence.last_seq, next_job_no = fence.next_job_no,
         expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = fence.shard and l.epoch = fence.epoch and l.term = fence.term and not l.released
     and l.last_seq + events = fence.last_seq and l.next_job_no <= fence.next_job_no;
  if not found then
    perform millrace.check_reign(shard, epoch, term);
    perform millrace.refuse('the counters do not follow on those that are stored');
  end if;
  return shard;
end $$;

-- Null when the reign is over. Which connection speaks for it is for stand() to say.
create function millrace.renew(shard smallint, epoch bigint, term text, ttl_ms bigint)
returns timestamptz language sql as $$
  update millrace.leader l set expires_at = now() + ttl_ms * interval '1 millisecond'
   where l.shard = renew.shard and l.epoch = renew.epoch and l.term = renew.term and not l.released
  returning now()
$$;

create function millrace.campaign(
  in shard smallint, in term text, in node_id text, in url text, in grpc text, in ttl_ms bigint,
  in is_direct boolean, in vacated bigint,
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
    select shard, 1, term, node_id, url, grpc, until, pid, start
     where not exists (select from millrace.leader x where x.shard = campaign.shard)
    on conflict on constraint leader_pkey do nothing
    returning l.* into leader;
  won := found;
  if won then return; end if;
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
     set epoch = l.epoch + 1, released = false, term = campaign.term, node_id = campaign.node_id,
         url = campaign.url, grpc = campaign.grpc, expires_at = until,
         backend_pid = pid, backend_start = start
   where l.shard = campaign.shard
  returning l.* into leader;
end $$;
