drop view millrace.events;
drop function millrace.event_cell;
drop function millrace.event_kind;
drop view millrace.idempotency_keys, millrace.nodes, millrace.leases, millrace.tasks, millrace.jobs;
