drop function millrace.unkept_jobs;
drop index millrace.job_unkept;
