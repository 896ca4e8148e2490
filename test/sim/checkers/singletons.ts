import { type JobRow, decodeJobOptions } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** Of two jobs with one singleton key, the older one has ended when the newer one comes, or does not succeed because of it. */
export function checkSingletons({ tables, findings }: Evidence): void {
  const last = new Map<string, JobRow>();
  for (const job of [...tables.jobs.values()].toSorted((a, b) => a.no - b.no)) {
    const { singleton } = decodeJobOptions(job.options);
    if (singleton === null) continue;
    const older = last.get(singleton.key);
    last.set(singleton.key, job);
    // When one that ran again did so is not in its row.
    if (older === undefined || older.run > 1) continue;
    const isOver = older.finishedAt !== null && older.finishedAt <= job.createdAt;
    const isReplaced = singleton.whenBusy === 'replace' && older.state !== 'succeeded';
    if (isOver || isReplaced) continue;
    findings.add('singletons', `${older.id} is ${older.state} although ${job.id} has its key`);
  }
}
