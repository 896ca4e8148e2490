import { decodeJobOptions } from '../../../src/scheduler/core/index.ts';
import { SUBMITTED_STEP } from '../../../src/scheduler/contract/index.ts';
import { decodeWaits } from '../../../src/scheduler/core/job/waits.ts';
import type { Evidence } from './evidence.ts';

/** A job that a task has submitted, and the step that says so, are in one commit; and each comes once. */
export function checkSubmissions({ journal, findings }: Evidence): void {
  const seen = new Set<string>();
  const called = new Set<string>();
  for (const { batch } of journal.commits) {
    const suspended = new Set(
      batch.events.flatMap(({ kind, jobNo }) => (kind === 'suspended' ? [jobNo] : [])),
    );
    const callers = new Set<string>(
      [...batch.jobInserts, ...batch.jobUpdates].flatMap(({ no, id }) =>
        suspended.has(no) ? [id] : [],
      ),
    );
    const made = new Set<string>();
    for (const { id, options } of batch.jobInserts) {
      const { startedBy } = decodeJobOptions(options);
      if (startedBy === null) continue;
      made.add(id);
      // A caller that is cancelled in the commit in which it called leaves no row that waits.
      if ('job' in startedBy && callers.has(startedBy.job)) called.add(id);
    }
    const said = new Set<string>();
    for (const { jobNo, taskNo, run, name, body } of batch.steps) {
      if (!name.startsWith(SUBMITTED_STEP) || name.startsWith(`${SUBMITTED_STEP}$send/`)) continue;
      const { jobId } = JSON.parse(body) as { readonly jobId: string };
      said.add(jobId);
      const key = `${jobNo}/${taskNo}/${run}/${name}`;
      if (!seen.has(key) && !made.has(jobId)) {
        findings.add('steps', `${key} was recorded without its job ${jobId}`);
      }
      seen.add(key);
    }
    for (const { waits } of [...batch.taskInserts, ...batch.taskUpdates]) {
      const { jobs = [] } = decodeWaits(waits) ?? {};
      for (const { jobId } of jobs) called.add(jobId);
    }
    for (const id of made) {
      if (!said.has(id) && !called.has(id))
        findings.add('steps', `${id} was submitted without a step`);
    }
  }
}
