drop function millrace.change_operators;
drop table millrace.operator;
