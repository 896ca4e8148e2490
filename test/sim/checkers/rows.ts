import type { JobState } from '../../../src/scheduler/core/index.ts';
import type { StoredEvidence } from './evidence.ts';

const JOB_AFTER: Readonly<Record<string, JobState>> = {
  'job.created': 'queued',
  'job.started': 'running',
  'job.succeeded': 'succeeded',
  'job.failed': 'failed',
  'job.cancelled': 'cancelled',
};

/** The log and the rows tell the same story. */
export function checkRows({ tables, replay, findings }: StoredEvidence): void {
  for (const oddity of replay.oddities) findings.add('log and rows', oddity);
  for (const [key, row] of tables.tasks) {
    const logged = replay.tasks.get(key);
    if (logged === undefined) {
      findings.add('log and rows', `task ${key} is not in the log`);
      continue;
    }
    const rowSays = `${row.state}, run ${row.run}, fence ${row.fence}`;
    const logSays = `${logged.state}, run ${logged.run}, fence ${logged.fence}`;
    if (rowSays !== logSays) {
      findings.add('log and rows', `task ${key} is ${rowSays}; by the log it is ${logSays}`);
    }
    if ((logged.lease !== null) !== (row.state === 'running')) {
      findings.add('log and rows', `task ${key} is ${row.state}, but its lease says otherwise`);
    }
  }
  checkJobs(tables, findings);
}

function checkJobs(
  { jobs, tasks, events }: StoredEvidence['tables'],
  findings: StoredEvidence['findings'],
): void {
  const states = new Map<number, JobState>();
  const runs = new Map<number, number>();
  for (const event of events) {
    if (event.jobNo === null || event.taskNo !== null) continue;
    const state = JOB_AFTER[event.kind];
    if (state !== undefined) states.set(event.jobNo, state);
    // A redrive of a live job does not start it over.
    if (event.kind === 'job.rerun' && runs.get(event.jobNo) !== event.run) {
      states.set(event.jobNo, 'queued');
    }
    if (event.run !== null) runs.set(event.jobNo, event.run);
  }
  const counts = new Map<number, number>();
  for (const { jobNo } of tasks.values()) counts.set(jobNo, (counts.get(jobNo) ?? 0) + 1);
  for (const [no, job] of jobs) {
    const logged = states.get(no) ?? 'unknown';
    if (job.state !== logged) {
      findings.add('log and rows', `job ${job.id} is ${job.state}; by the log it is ${logged}`);
    }
    if (job.run !== runs.get(no)) {
      findings.add(
        'log and rows',
        `job ${job.id} is at run ${job.run}, the log at ${runs.get(no)}`,
      );
    }
    if (job.taskCount !== (counts.get(no) ?? 0)) {
      findings.add('log and rows', `job ${job.id} has ${counts.get(no)} of ${job.taskCount} tasks`);
    }
  }
}
