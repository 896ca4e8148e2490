-- A partitioned table takes its partitions along.
drop table
  millrace.event_part,
  millrace.event,
  millrace.inbox,
  millrace.schedule,
  millrace.node,
  millrace.idempotency,
  millrace.task_step,
  millrace.task_result,
  millrace.task_spec,
  millrace.task_history,
  millrace.task,
  millrace.job_live,
  millrace.job,
  millrace.leader;
