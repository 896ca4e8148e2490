drop table operator;
