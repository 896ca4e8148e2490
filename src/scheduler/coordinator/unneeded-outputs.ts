/** Outputs on a worker that will not be read any more. */
import { isFinished } from '../core/index.ts';
import type { Instant, JobId, JobRow } from '../core/index.ts';
import type { ServiceOptions } from './service-options.ts';

/** Jobs that are looked up at the same time. */
const LOOKS = 16;

/**
 * Those of ended jobs, once their rows may not be read any more, and of unknown jobs. The memory answers for live
 * ones, the store for all others. While jobs are still being loaded, nothing is unneeded: a job that is not in memory
 * may only be late.
 */
export async function unneededOutputs(
  {
    dispatcher,
    store,
    shard,
    settings,
  }: Pick<ServiceOptions, 'dispatcher' | 'store' | 'shard' | 'settings'>,
  queries: readonly JobId[],
  kind?: 'inner',
): Promise<readonly JobId[]> {
  // Outputs between stages are useless once the job has ended, however it ended.
  const keptMs = kind === 'inner' ? 0 : settings.resultTtlMs;
  const { absent, now } = await dispatcher.read((state, at) => ({
    absent: state.isComplete ? queries.filter((id) => !state.jobsById.has(id)) : [],
    now: at,
  }));
  const unneeded: JobId[] = [];
  for (let at = 0; at < absent.length; at += LOOKS) {
    const ids = absent.slice(at, at + LOOKS);
    const rows = await Promise.all(ids.map((id) => store.jobRow(shard, id)));
    for (const [place, id] of ids.entries()) {
      if (isOver(rows[place] ?? null, now, keptMs)) unneeded.push(id);
    }
  }
  return unneeded;
}

function isOver(row: JobRow | null, now: Instant, resultTtlMs: number): boolean {
  if (row === null) return true;
  if (!isFinished(row.state)) return false;
  return row.state !== 'succeeded' || (row.finishedAt ?? 0) + resultTtlMs <= now;
}
