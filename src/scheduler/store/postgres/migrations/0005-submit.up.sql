-- Transactional enqueue: `select millrace.submit('{"tasks": [...]}')` inside a user's own transaction. The
-- job exists if and when that transaction commits; its id is the answer. Whoever may use the schema
-- may call it (grant usage on schema millrace to ...); no right on any table is needed.
--
-- Ids begin with the time, like those that Millrace makes itself, so that neighbours lie together.
create function millrace.submit(document jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ms bigint := floor(extract(epoch from clock_timestamp()) * 1000);
  bytes bytea := overlay(uuid_send(gen_random_uuid()) placing substring(int8send(ms) from 3) from 1 for 6);
  id text := encode(set_byte(bytes, 6, (get_byte(bytes, 6) & 15) | 112), 'hex')::uuid;
begin
  if document is null then
    raise exception using errcode = 'null_value_not_allowed', message = 'a job document cannot be null';
  end if;
  insert into millrace.inbox (shard, job_id, document) values (0, id, document::text);
  perform pg_notify('millrace_inbox', '0');
  return id;
end $$;
