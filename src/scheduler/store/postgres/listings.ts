/** What people see of nodes, schedules, the log's head and tasks that are out of attempts. */
import {
  type Instant,
  JOB_STATES,
  type JobId,
  type ScheduleRow,
  type TaskId,
  type TermId,
} from '../../core/index.ts';
import {
  type DeadFilter,
  type DeadTask,
  type Holds,
  type JobCounts,
  type LogHead,
  NO_JOBS,
  type NodeView,
} from '../store.ts';
import type { Run } from './connection.ts';
import type { ReadPool } from './pool.ts';
import * as rows from './rows.ts';

export async function logHead(run: Run, shard: number): Promise<LogHead> {
  const [row] = await run(
    `select coalesce(max(last_seq), 0) as seq, coalesce(max(first_seq), 1) as first_seq,
            nullif(max(term), '') as term, clock_timestamp() as at
       from millrace.leader where shard = $1`,
    [shard],
  );
  return {
    seq: row?.['seq'] as number,
    firstSeq: row?.['first_seq'] as number,
    term: row?.['term'] as TermId | null,
    at: row?.['at'] as Instant,
  };
}

/** No index follows a hot row, so the jobs are walked from the oldest live one on: 0.2 s for a million. The leader does not ask. */
const RUNNING = `
  select t.node_id, count(*) as running
    from millrace.job j
    cross join lateral (
      select x.node_id from millrace.any_task x
       where x.shard = $1 and x.job_no = j.no and x.state = 3 offset 0) t
   where j.shard = $1 and j.state = 1
     and j.no >= (select min(l.no) from millrace.job_live l where l.shard = $1)
   group by t.node_id`;

const NODES = `select ${rows.nodes.read('n')} from millrace.node n where n.shard = $1 order by n.id`;

export async function nodeViews(
  pool: ReadPool,
  shard: number,
  holds?: Holds,
): Promise<readonly NodeView[]> {
  if (holds !== undefined) {
    const nodes = await pool.run(NODES, [shard]);
    return nodes.map((row) => {
      const node = rows.nodes.decode(row);
      return { ...node, running: holds(node.id) };
    });
  }
  return pool.snapshot(async (run) => {
    const [nodes, counts] = await Promise.all([run(NODES, [shard]), run(RUNNING, [shard])]);
    const running = new Map(
      counts.map((row) => [row['node_id'] as string, row['running'] as number]),
    );
    return nodes.map((row) => {
      const node = rows.nodes.decode(row);
      return { ...node, running: running.get(node.id) ?? 0 };
    });
  });
}

export async function schedulesOf(run: Run, shard: number): Promise<readonly ScheduleRow[]> {
  const found = await run(
    `select ${rows.schedules.read('s')} from millrace.schedule s where s.shard = $1 order by s.id`,
    [shard],
  );
  return found.map((row) => rows.schedules.decode(row));
}

/**
 * From the newest job on, and only in jobs that run or have failed. The walk ends with the page; where
 * nothing has died it passes over every job.
 */
const DEAD = `
  select ${rows.tasks.read('t')}, j.id as job_id, s.id as task_id, s.executor
    from millrace.job j
    cross join lateral (
      select * from millrace.any_task x
       where x.shard = $1 and x.job_no = j.no and x.state = 5 and x.error_code = 'dead'
         and (x.job_no, x.task_no) < ($3::bigint, $4::integer) offset 0) t
    cross join lateral (
      select x.id, x.executor from millrace.any_spec x
       where x.shard = $1 and x.job_no = t.job_no and x.task_no = t.task_no offset 0) s
   where j.shard = $1 and j.no <= $3::bigint and j.state in (1, 3)
   order by j.no desc, t.task_no desc limit $2`;

/** After everything that there can be. */
const END = { jobNo: Number.MAX_SAFE_INTEGER, taskNo: 0 };

export async function deadTasks(
  run: Run,
  shard: number,
  { before, limit }: DeadFilter,
): Promise<readonly DeadTask[]> {
  const { jobNo, taskNo } = before ?? END;
  const found = await run(DEAD, [shard, limit, jobNo, taskNo]);
  return found.map((row) => ({
    jobId: row['job_id'] as JobId,
    taskId: row['task_id'] as TaskId,
    executor: row['executor'] as string,
    task: rows.tasks.decode(row),
  }));
}

/** The walk from the newest on ends at the limit, however many jobs there are. */
const COUNTS = `
  select j.state, count(*)::integer as jobs
    from (select state from millrace.job where shard = $1 order by no desc limit $2) j
   group by j.state`;

export async function countJobs(run: Run, shard: number, newest: number): Promise<JobCounts> {
  const found = await run(COUNTS, [shard, newest]);
  const counts = Object.fromEntries(
    found.map((row) => [JOB_STATES[row['state'] as number], row['jobs']]),
  ) as Partial<JobCounts>;
  return { ...NO_JOBS, ...counts };
}
