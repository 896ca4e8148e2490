drop table limit_state;
