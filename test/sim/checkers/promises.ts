import type { Evidence } from './evidence.ts';

/** Everything that was acknowledged is there, as it was submitted. */
export function checkPromises({ tables, witness, findings }: Evidence): void {
  const jobs = new Map([...tables.jobs.values()].map((job) => [job.id as string, job]));
  for (const { jobId, document, isAcknowledged } of witness.jobs.values()) {
    const job = jobs.get(jobId);
    if (job === undefined) {
      if (isAcknowledged) findings.add('promises', `job ${jobId} was acknowledged and is gone`);
      continue;
    }
    for (const [no, { id }] of document.tasks.entries()) {
      const spec = tables.specs.get(`${job.no}/${no}`);
      if (spec?.id !== id) findings.add('promises', `job ${jobId} has no task ${id} at ${no}`);
    }
  }
  const cancelled = new Set(
    tables.events.flatMap(({ kind, jobNo }) => (kind === 'job.cancelled' ? [jobNo] : [])),
  );
  for (const jobId of witness.cancelled.keys()) {
    const job = jobs.get(jobId);
    if (job !== undefined && !cancelled.has(job.no)) {
      findings.add('promises', `job ${jobId} was said to be cancelled and never was`);
    }
  }
  const keys = new Map<string, string>();
  for (const { id, idempotencyKey } of tables.jobs.values()) {
    if (idempotencyKey === null) continue;
    const before = keys.get(idempotencyKey);
    if (before !== undefined) {
      findings.add('idempotency', `key ${idempotencyKey} made job ${before} and job ${id}`);
    }
    keys.set(idempotencyKey, id);
  }
}
