/** What people see of nodes, schedules and tasks that are out of attempts. */
import type {
  DeclarationKind,
  DeclarationRow,
  JobId,
  JobNo,
  ScheduleRow,
  TaskId,
} from '../../core/index.ts';
import {
  type ClusterImage,
  type DeadFilter,
  type DeadTask,
  type InboxRow,
  type JobCounts,
  NO_JOBS,
  type NodeView,
} from '../store.ts';
import { rowOf } from './columns.ts';
import { columnList, selectRows } from './rows.ts';
import { type Session } from './session.ts';
import { DECLARATIONS, INBOX, LIMIT, NODE, SCHEDULE, TASK } from './tables.ts';

const BY_ID = 'where t.shard = $1::integer order by t.id';

export async function nodeViews(session: Session, shard: number): Promise<NodeView[]> {
  const of = shard;
  const nodes = await selectRows(session, NODE, BY_ID, of);
  const counts = await session.rows(
    `select node_id, count(*)::integer from task
      where shard = $1::integer and state = 'running' group by node_id`,
    of,
  );
  const running = new Map(counts.map(([id, count]) => [id as string, count as number]));
  return nodes.map((node) => ({ ...node, running: running.get(node.id) ?? 0 }));
}

export function declarations(
  session: Session,
  shard: number,
  kind: DeclarationKind,
): Promise<DeclarationRow[]> {
  return selectRows(session, DECLARATIONS[kind], BY_ID, shard);
}

export function schedules(session: Session, shard: number): Promise<ScheduleRow[]> {
  return selectRows(session, SCHEDULE, BY_ID, shard);
}

export async function deadTasks(
  session: Session,
  shard: number,
  { before, limit }: DeadFilter,
): Promise<DeadTask[]> {
  const earlier =
    before === undefined
      ? ''
      : `and (t.job_no < $3::bigint or t.job_no = $3::bigint and t.task_no < $4::integer)`;
  const rows = await session.rows(
    `select ${columnList(TASK)}, j.id, s.id, s.executor
       from task t
       join job j on j.shard = t.shard and j.no = t.job_no
       join spec s on s.shard = t.shard and s.job_no = t.job_no and s.task_no = t.task_no
      where t.shard = $1::integer and t.state = 'failed' and t.error_code = 'dead' ${earlier}
      order by t.job_no desc, t.task_no desc limit $2::bigint`,
    shard,
    limit,
    ...(before === undefined ? [] : [before.jobNo, before.taskNo]),
  );
  return rows.map((cells) => ({
    task: rowOf(TASK, cells),
    jobId: cells.at(-3) as JobId,
    taskId: cells.at(-2) as TaskId,
    executor: cells.at(-1) as string,
  }));
}

export async function countJobs(
  session: Session,
  shard: number,
  newest: number,
): Promise<JobCounts> {
  const found = await session.rows(
    `select state, count(*)::integer from (
       select state from job where shard = $1::integer order by no desc limit $2::bigint)
      group by state`,
    shard,
    newest,
  );
  const counts = Object.fromEntries(found) as Partial<JobCounts>;
  return { ...NO_JOBS, ...counts };
}

/** Those of the jobs that have a row. */
export async function storedJobs(
  session: Session,
  shard: number,
  numbers: readonly JobNo[],
): Promise<ReadonlySet<JobNo>> {
  if (numbers.length === 0) return new Set();
  const found = await session.rows(
    'select no from job where shard = $1::integer and no in (select unnest($2::bigint[]))',
    shard,
    numbers,
  );
  return new Set(found.map(([no]) => no as JobNo));
}

/** What a new leader loads first. */
export async function clusterRows(
  session: Session,
  shard: number,
): Promise<Pick<ClusterImage, 'nodes' | 'schedules' | 'limits'>> {
  const nodes = await selectRows(session, NODE, BY_ID, shard);
  const schedules = await selectRows(session, SCHEDULE, BY_ID, shard);
  const limits = await selectRows(session, LIMIT, BY_ID, shard);
  return { nodes, schedules, limits };
}

export function inboxRows(
  session: Session,
  shard: number,
  limit: number,
): Promise<readonly InboxRow[]> {
  const where = 'where t.shard = $1::integer order by t.no limit $2::bigint';
  return selectRows(session, INBOX, where, shard, limit);
}
