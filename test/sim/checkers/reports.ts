import type { Evidence } from './evidence.ts';

/** Entries of the log that only a report of the same kind can cause. */
const REPORTED: ReadonlySet<string> = new Set(['progress', 'completed', 'suspended']);

/** What only the holder of a lease can cause, the holder of that very lease has said. */
export function checkReports({ journal, witness, findings }: Evidence): void {
  for (const { kind, jobNo, taskNo, fence, nodeId, seq } of journal.events) {
    // Without a node it was not an attempt: a result of another task, or one that came with the job.
    if (!REPORTED.has(kind) || nodeId === null || fence === null) continue;
    const lease = `${jobNo}/${taskNo}/${fence}`;
    if (witness.said.has(`${kind} ${lease}`)) continue;
    findings.add('reports', `task ${lease} is ${kind} (event ${seq}), which no worker has said`);
  }
}
