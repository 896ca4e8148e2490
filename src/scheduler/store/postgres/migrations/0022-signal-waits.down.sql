drop index millrace.task_signal_wait;
