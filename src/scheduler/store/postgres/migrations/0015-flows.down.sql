drop function millrace.change_flows;
drop table millrace.flow;
