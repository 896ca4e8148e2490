/** The log lines of tasks, over a connection that only this uses: commits never wait for it. */
import { instant } from '../../core/index.ts';
import type { JobId, TaskId } from '../../core/index.ts';
import type { LogFilter, LogLevel, LogRow, NumberedLogRow, TaskLogStore } from '../task-log.ts';
import { connect, runOn, type ConnectionSettings, type Run } from './connection.ts';
import type { Values } from './codec.ts';
import { unavailable } from './failure.ts';

const SESSION = { statement_timeout: '30000' };
const IDLE_SECONDS = 60;
/** Jobs whose lines one call removes. */
const JOBS_MAX = 100;

/** The row of a job is locked by its first writer, so numbers become visible in their order. Jobs come in the order of
 * their ids: two writers cannot wait for each other. */
const APPEND = `
  with line as (
    select * from json_to_recordset(($2::text)::json)
      as l(no bigint, job text, task text, attempt integer, at bigint, level text, message text, fields text)
  ), head as (
    insert into millrace.task_log_head as h (shard, job_id, last_seq, written_at)
      select $1::smallint, l.job, count(*), clock_timestamp() from line l group by l.job order by l.job
      on conflict (shard, job_id) do update
        set last_seq = h.last_seq + excluded.last_seq, written_at = excluded.written_at
      returning h.job_id, h.last_seq
  )
  insert into millrace.task_log (shard, job_id, seq, task_id, attempt, at, level, message, fields)
    select $1::smallint, l.job,
      head.last_seq - count(*) over (partition by l.job) + row_number() over (partition by l.job order by l.no),
      l.task, l.attempt, l.at, l.level, l.message, l.fields
    from line l join head on head.job_id = l.job`;

const READ = `
  select l.seq, l.task_id, l.attempt, l.at, l.level, l.message, l.fields
  from millrace.task_log l
  where l.shard = $1 and l.job_id = $2 and l.seq > $3
    and ($4::text is null or l.task_id = $4) and ($5::integer is null or l.attempt = $5)
  order by l.seq limit $6`;

const PRUNE = `
  with gone as (
    select h.shard, h.job_id from millrace.task_log_head h
    where h.shard = $1::smallint and h.written_at < clock_timestamp() - make_interval(secs => $2::float8 / 1000)
      and not exists (select 1 from millrace.job j where j.shard = h.shard and j.id = h.job_id)
    limit ${JOBS_MAX}
  ), lines as (
    delete from millrace.task_log l using gone g where l.shard = g.shard and l.job_id = g.job_id
  )
  delete from millrace.task_log_head h using gone g where h.shard = g.shard and h.job_id = g.job_id
    returning h.job_id`;

const REMOVE = `
  with lines as (delete from millrace.task_log l where l.shard = $1::smallint and l.job_id = $2)
  delete from millrace.task_log_head h where h.shard = $1::smallint and h.job_id = $2`;

export interface ClosableTaskLog extends TaskLogStore {
  close(): Promise<void>;
}

export function taskLogOn(settings: ConnectionSettings, read: Run): ClosableTaskLog {
  const sql = connect(settings, SESSION, { max: 1, idle_timeout: IDLE_SECONDS });
  const run = runOn(sql, settings.isPooled);
  const write: Run = (statement, parameters) =>
    run(statement, parameters).catch((cause: unknown) => {
      throw unavailable(cause);
    });
  return {
    async append(shard, rows) {
      if (rows.length > 0) await write(APPEND, [shard, JSON.stringify(rows.map(lineOf))]);
    },
    async read(shard, { jobId, after, limit, taskId, attempt }) {
      const given = [shard, jobId, after, taskId ?? null, attempt ?? null, limit];
      return (await read(READ, given)).map((values) => rowOf(jobId, values));
    },
    async prune(shard, quietMs) {
      return (await write(PRUNE, [shard, quietMs])).length === JOBS_MAX;
    },
    async remove(shard, jobId) {
      await write(REMOVE, [shard, jobId]);
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

function lineOf(row: LogRow, no: number): object {
  const { jobId: job, taskId: task, attempt, at, level, message, fields } = row;
  return { no, job, task, attempt, at, level, message, fields };
}

function rowOf(jobId: LogFilter['jobId'], values: Values): NumberedLogRow {
  const { seq, task_id, attempt, at, level, message, fields } = values as Record<string, unknown>;
  return {
    jobId: jobId satisfies JobId,
    seq: Number(seq),
    taskId: String(task_id) as TaskId,
    attempt: Number(attempt),
    at: instant(Number(at)),
    level: String(level) as LogLevel,
    message: String(message),
    fields: typeof fields === 'string' ? fields : null,
  };
}
