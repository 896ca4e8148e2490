import { type JobRow, decodeJobOptions, runAtOf } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** Of two jobs with one debounce key, the older one does not run if it was still waiting when the newer one came. */
export function checkDebounce({ tables, findings, driftMs }: Evidence): void {
  const last = new Map<string, JobRow>();
  for (const job of [...tables.jobs.values()].toSorted((a, b) => a.no - b.no)) {
    const key = decodeJobOptions(job.options).debounce?.key;
    if (key === undefined) continue;
    const older = last.get(key);
    last.set(key, job);
    // One that was asked for again runs because of that.
    const runAt = older === undefined || older.run > 1 ? null : runAtOf(older);
    if (older === undefined || runAt === null) continue;
    if (runAt <= job.createdAt + driftMs || older.startedAt === null) continue;
    findings.add('debounce', `${older.id} has run although ${job.id} replaced it`);
  }
}
