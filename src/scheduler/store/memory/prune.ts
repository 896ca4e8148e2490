/** Old rows go: finished jobs with all that hangs on them, events from the front, completed keys. */
import { QUERY_OUTPUT_START, isUnkept } from '../../core/index.ts';
import type { Instant, JobId } from '../../core/index.ts';
import type { Pruned, Pruning, Retention } from '../store.ts';
import type { JobRecord, Shard } from './shard.ts';

export function pruneShard(shard: Shard, retention: Pruning, now: Instant): Pruned {
  if ('only' in retention) {
    const job = shard.jobs.get(retention.only);
    const isGone = job !== undefined && job.row.finishedAt !== null;
    if (isGone) removeJob(shard, job);
    return { jobs: isGone ? 1 : 0, events: 0, keys: 0, more: false };
  }
  const jobs = pruneJobs(shard, now, retention);
  const events = pruneEvents(shard, now - retention.eventsMs);
  const keys = pruneKeys(shard, now - retention.keysMs);
  return { jobs: jobs.removed, events, keys, more: jobs.left > 0 };
}

function pruneJobs(
  shard: Shard,
  now: Instant,
  { jobsMs, queriesMs = jobsMs, unkeptMs = jobsMs, jobsMax }: Retention,
): { removed: number; left: number } {
  const old = [...shard.jobs.values()].filter(({ row }) => {
    const isQuery = row.output?.startsWith(QUERY_OUTPUT_START) === true;
    const ages = [jobsMs, ...(isQuery ? [queriesMs] : []), ...(isUnkept(row) ? [unkeptMs] : [])];
    const before = now - Math.min(...ages);
    return row.finishedAt !== null && row.finishedAt < before && !isCalledByLive(shard, row.id);
  });
  const removed = old.slice(0, jobsMax);
  for (const job of removed) removeJob(shard, job);
  return { removed: removed.length, left: old.length - removed.length };
}

/** Its caller gets its result each time it is run again. The id of a called job is that of its caller, a
 * dot, and a name without one. */
function isCalledByLive(shard: Shard, id: string): boolean {
  const caller = shard.jobNos.get(id.replace(/\.[^.]*$/, '') as JobId);
  return caller !== undefined && shard.live.has(caller);
}

function removeJob(shard: Shard, { row }: JobRecord): void {
  shard.jobs.delete(row.no);
  shard.jobNos.delete(row.id);
  if (row.idempotencyKey !== null) shard.jobNosByKey.delete(row.idempotencyKey);
}

/** From the front only: what remains has no gaps, whatever order the times are in. */
function pruneEvents(shard: Shard, before: number): number {
  const kept = shard.events.findIndex((event) => event.at >= before);
  const count = kept === -1 ? shard.events.length : kept;
  if (count > 0) shard.events = shard.events.slice(count);
  return count;
}

/** A live job may still wait for a key that it names, or copy its result. */
function pruneKeys(shard: Shard, before: number): number {
  const named = new Set<string>();
  for (const no of shard.live) {
    for (const scope of shard.jobs.get(no)?.scopes ?? []) named.add(scope);
  }
  let removed = 0;
  for (const key of shard.keys.values()) {
    const old = key.state === 'completed' && key.updatedAt < before;
    if (!old || named.has(key.scope)) continue;
    shard.keys.delete(key.scope);
    removed += 1;
  }
  return removed;
}
