/** Which numbers the jobs of a time have. There is no index of the times: it would be one more entry for every job. */
import type { JobFilter } from '../store.ts';
import type { Run } from './connection.ts';

interface Numbers {
  readonly first: number | undefined;
  readonly end: number | undefined;
}

/** Numbers are given in the order of creation, by the clock of the database. When another leader or another database goes
 * on, that may be set back a little. */
const SLACK_MS = 60_000;

/** SQL for a bound number of milliseconds. */
export function moment(parameter: string): string {
  return `to_timestamp(${parameter}::double precision / 1000)`;
}

/** No job outside these numbers was created in that time; a few within them may not have been. */
export async function createdBetween(
  run: Run,
  shard: number,
  { since, until, before }: Pick<JobFilter, 'since' | 'until' | 'before'>,
): Promise<Numbers> {
  const first = since === undefined ? undefined : await firstSince(run, shard, since - SLACK_MS);
  if (until === undefined) return { first, end: before };
  const end = await firstSince(run, shard, until + SLACK_MS);
  return { first, end: before === undefined ? end : Math.min(end, before) };
}

/**
 * The number of the first job that was created then or later, or the next one that will be given. Halves the numbers
 * about twenty times for a million jobs, with one look at the primary key each; where jobs were removed, it looks at the
 * next one above.
 */
const FIRST_SINCE = `
  with recursive halved (low, high) as (
    select coalesce(min(no), 1), coalesce(max(no), 0) + 1 from millrace.job where shard = $1
    union all
    select case when m.is_before then m.no + 1 else h.low end, case when m.is_before then h.high else m.mid end
      from halved h
      cross join lateral (
        select x.mid, j.no, j.no < h.high and j.created_at < ${moment('$2')} as is_before
          from (select (h.low + h.high) / 2 as mid) x
          cross join lateral (
            select no, created_at from millrace.job where shard = $1 and no >= x.mid order by no limit 1) j
      ) m
     where h.low < h.high
  )
  select low from halved where low >= high`;

async function firstSince(run: Run, shard: number, ms: number): Promise<number> {
  const [row] = await run(FIRST_SINCE, [shard, ms]);
  return Number(row?.['low'] ?? 1);
}
