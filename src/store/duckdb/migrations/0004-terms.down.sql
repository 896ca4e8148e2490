drop table term;
