drop table task_log;
