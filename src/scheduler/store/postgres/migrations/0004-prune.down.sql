drop function millrace.prune(smallint, bigint, text, bigint[], timestamptz, text[], bigint);
drop function millrace.forget_events(smallint, bigint);
drop function millrace.first_event_since(smallint, timestamptz);
drop function millrace.is_named(smallint, text);
drop function millrace.old_jobs(smallint, timestamptz, integer);
