drop table millrace.task_log;
drop table millrace.task_log_head;
