drop index millrace.job_schedule;
drop index millrace.job_started_by;
