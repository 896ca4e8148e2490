drop table flow;
