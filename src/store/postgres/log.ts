/** Reading the event log. */
import type { JobId, TaskId } from '../../core/index.ts';
import { pastRetention } from '../refusals.ts';
import type { EventView } from '../store.ts';
import type { Run } from './connection.ts';
import * as rows from './rows.ts';

/**
 * One statement, so that the events and the number of the oldest one are of the same moment. The
 * leader's row comes also when no event does. Names are looked up by key, event by event (`offset 0`):
 * any other plan costs more when the tables are large.
 */
const statement = (only: string): string => `
  select l.first_seq, ${rows.events.read('e')}, j.id as job_id, s.id as task_id
    from millrace.leader l
    left join lateral (
      select * from millrace.event e where e.shard = $1 and e.seq > $2 ${only} order by e.seq limit $3
    ) e on true
    left join lateral (
      select id from millrace.job where shard = $1 and no = e.job_no offset 0
    ) j on true
    left join lateral (
      select id from millrace.task_spec where shard = $1 and job_no = e.job_no and task_no = e.task_no offset 0
    ) s on true
   where l.shard = $1
   order by e.seq`;

const ALL = statement('');
const OF_JOB = statement(
  'and e.job_no = (select no from millrace.job where shard = $1 and id = $4)',
);

export async function eventsAfter(
  run: Run,
  shard: number,
  after: number,
  limit: number,
  jobId?: JobId,
): Promise<readonly EventView[]> {
  const found =
    jobId === undefined
      ? await run(ALL, [shard, after, limit])
      : await run(OF_JOB, [shard, after, limit, jobId]);
  const first = found[0]?.['first_seq'] as number | undefined;
  if (first !== undefined && after + 1 < first) throw pastRetention(after, first);
  return found
    .filter((row) => row['seq'] !== null)
    .map((row) => ({
      ...rows.events.decode(row),
      jobId: row['job_id'] as JobId | null,
      taskId: row['task_id'] as TaskId | null,
    }));
}
