import type { Store } from '../../src/scheduler/store/index.ts';
import { expectCount } from './contender.ts';

const PAGE = 10_000;

/**
 * Every job succeeded, and the log tells of exactly one completed task for each. Closes the store.
 */
export async function auditStore(store: Store, submitted: number): Promise<void> {
  const jobs = new Set<number | null>();
  let created = 0;
  let completed = 0;
  let succeeded = 0;
  try {
    for (let after = 0, isLast = false; !isLast;) {
      const page = await store.events(0, after, PAGE);
      for (const { kind, jobNo } of page) {
        if (kind === 'job.created') created += 1;
        if (kind === 'job.succeeded') succeeded += 1;
        if (kind !== 'completed') continue;
        completed += 1;
        jobs.add(jobNo);
      }
      after = page.at(-1)?.seq ?? after;
      isLast = page.length === 0;
    }
  } finally {
    await store.close();
  }
  expectCount('jobs were taken in', created, submitted);
  expectCount('completions in the log', completed, submitted);
  expectCount('jobs with a completion in the log', jobs.size, submitted);
  expectCount('jobs succeeded', succeeded, submitted);
}
