drop function millrace.each;
drop function millrace.instants;
