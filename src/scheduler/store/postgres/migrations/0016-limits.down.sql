drop function millrace.delete_limits;
drop function millrace.put_limits;
drop table millrace.limit_state;
