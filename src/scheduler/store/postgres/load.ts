/** What a new leader loads: everything but payloads. */
import {
  type Instant,
  type JobId,
  type JobNo,
  jobNo,
  keyScope,
  type KeyRow,
  type TaskSpecRow,
} from '../../core/index.ts';
import type { ClusterImage, JobImage, JobPortion } from '../store.ts';
import type { Values } from './codec.ts';
import type { Parameters, Run } from './connection.ts';
import type { ReadPool } from './pool.ts';
import * as rows from './rows.ts';
import { keysOf } from './views.ts';

export function loadCluster(pool: ReadPool, shard: number): Promise<ClusterImage> {
  return pool.snapshot(async (run) => {
    const [leader, nodes, schedules, limits] = await Promise.all([
      run(
        `select clock_timestamp() as now, coalesce(max(last_seq), 0) as last_seq,
                coalesce(max(commit_no), 0) as commit_no,
                coalesce(max(next_job_no), 1) as next_job_no
           from millrace.leader where shard = $1`,
        [shard],
      ),
      run(`select ${rows.nodes.read('n')} from millrace.node n where shard = $1 order by id`, [
        shard,
      ]),
      run(
        `select ${rows.schedules.read('s')} from millrace.schedule s where shard = $1 order by id`,
        [shard],
      ),
      run(
        `select ${rows.limits.read('l')} from millrace.limit_state l where shard = $1 order by id`,
        [shard],
      ),
    ]);
    const [counters = {}] = leader;
    return {
      now: counters['now'] as Instant,
      commitNo: counters['commit_no'] as number,
      lastSeq: counters['last_seq'] as number,
      nextJobNo: counters['next_job_no'] as JobNo,
      nodes: nodes.map((row) => rows.nodes.decode(row)),
      schedules: schedules.map((row) => rows.schedules.decode(row)),
      limits: limits.map((row) => rows.limits.decode(row)),
    };
  });
}

const JOB = rows.jobs.read('j');

/** The jobs of `l`, with one look-up by key for each: the planner need not guess how many they are. */
const looked = `cross join lateral (
  select * from millrace.job x where x.shard = $1 and x.no = l.no offset 0) j`;

/** A job with a running task is running itself: queued ones need no look at their tasks. Walked from the
 * oldest live job on: a look at each live job instead took four times as long (a million: 1.8 s). */
const BUSY = `select ${JOB} from millrace.job j
  where j.shard = $1 and j.state = 1
    and j.no >= (select min(l.no) from millrace.job_live l where l.shard = $1)
    and exists (
      select from millrace.any_task t
       where t.shard = j.shard and t.job_no = j.no and t.state = 3 offset 0)
  order by j.priority, j.no`;

const PORTION = `select ${JOB} from (
    select no from millrace.job_live where shard = $1 and priority = $2 and no >= $3
     order by no limit $4) l ${looked}
  order by j.no`;

export function loadBusyJobs(pool: ReadPool, shard: number): Promise<readonly JobImage[]> {
  return pool.snapshot(async (run) => imagesOf(run, shard, await run(BUSY, [shard])));
}

export function loadJobs(
  pool: ReadPool,
  shard: number,
  priority: number,
  from: JobNo,
  limit: number,
): Promise<JobPortion> {
  return pool.snapshot(async (run) => {
    const found = await run(PORTION, [shard, priority, from, limit + 1]);
    const next = found[limit]?.['no'] as number | undefined;
    return {
      jobs: await imagesOf(run, shard, found.slice(0, limit)),
      next: next === undefined ? null : jobNo(next),
    };
  });
}

export function loadJob(pool: ReadPool, shard: number, id: JobId): Promise<JobImage | null> {
  return pool.snapshot(async (run) => {
    const found = await run(`select ${JOB} from millrace.job j where j.shard = $1 and j.id = $2`, [
      shard,
      id,
    ]);
    const [image = null] = await imagesOf(run, shard, found);
    return image;
  });
}

/** All rows of the jobs in $2, job by job. */
const ofJobs = (columns: string, table: string, no = 'task_no'): string => `select ${columns}
  from unnest($2::bigint[]) as u(no) cross join lateral (
    select * from millrace.${table} y where y.shard = $1 and y.job_no = u.no offset 0) x
  order by x.job_no, x.${no}`;

const SPECS = ofJobs(rows.specs.read('x').replace('x.input', 'null as input'), 'any_spec');
const TASKS = ofJobs(rows.tasks.read('x'), 'any_task');
const SIGNALS = ofJobs(rows.signals.read('x').replace('x.body', `'' as body`), 'signal', 'no');

async function imagesOf(run: Run, shard: number, found: readonly Values[]): Promise<JobImage[]> {
  const jobs = found.map((row) => rows.jobs.decode(row));
  if (jobs.length === 0) return [];
  const of: Parameters = [shard, ...rows.numbers.encode(jobs.map(({ no }) => no))];
  const [specRows, taskRows, signalRows] = await Promise.all([
    run(SPECS, of),
    run(TASKS, of),
    run(SIGNALS, of),
  ]);
  const specs = byJob(specRows.map((row) => rows.specs.decode(row)));
  const tasks = byJob(taskRows.map((row) => rows.tasks.decode(row)));
  const signals = byJob(signalRows.map((row) => rows.signals.decode(row)));
  const keys = await namedKeys(run, shard, [...specs.values()].flat());
  return jobs.map((job) => {
    const own = specs.get(job.no) ?? [];
    const scopes = new Set(own.flatMap(scopesOf));
    return {
      job,
      specs: own,
      tasks: tasks.get(job.no) ?? [],
      keys: [...scopes].flatMap((scope) => keys.get(scope) ?? []),
      signals: signals.get(job.no) ?? [],
    };
  });
}

function byJob<T extends { readonly jobNo: JobNo }>(items: readonly T[]): Map<JobNo, T[]> {
  const groups = new Map<JobNo, T[]>();
  for (const item of items) {
    const group = groups.get(item.jobNo);
    if (group === undefined) groups.set(item.jobNo, [item]);
    else group.push(item);
  }
  return groups;
}

const scopesOf = ({ executor, idempotencyKey }: TaskSpecRow): string[] =>
  idempotencyKey === null ? [] : [keyScope(executor, idempotencyKey)];

async function namedKeys(
  run: Run,
  shard: number,
  specs: readonly TaskSpecRow[],
): Promise<ReadonlyMap<string, KeyRow>> {
  const scopes = new Set(specs.flatMap(scopesOf));
  const keys = await keysOf(run, shard, [...scopes]);
  return new Map(keys.map((key) => [key.scope, key]));
}
