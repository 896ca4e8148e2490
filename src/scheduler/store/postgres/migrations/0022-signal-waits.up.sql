-- Which tasks wait for a signal, for lists of the jobs that somebody must approve. Only an update that begins or ends such a
-- wait changes this index and leaves the page (see 0001); all others stay on it. The predicate is SIGNAL_WAIT_START of the
-- core. It does not begin with the shard: see 0001.
create index task_signal_wait on millrace.task (job_no, task_no, shard) where waits like '{"signals":[{%';
