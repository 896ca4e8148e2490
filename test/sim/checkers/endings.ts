import { isTerminal } from '../../../src/scheduler/core/index.ts';
import type { StoredEvidence } from './evidence.ts';

/** Every run of every task ends exactly once, and the history of all runs is there. */
export function checkEndings({ tables, replay, findings }: StoredEvidence): void {
  const ends = new Map<string, string[]>();
  for (const { key, run, state } of replay.ends) {
    const name = `${key}/${run}`;
    ends.set(name, [...(ends.get(name) ?? []), state]);
  }
  const history = new Map(
    tables.history.map((row) => [`${row.jobNo}/${row.taskNo}/${row.run}`, row]),
  );
  for (const [key, row] of tables.tasks) {
    for (let run = 1; run <= row.run; run += 1) {
      const name = `${key}/${run}`;
      const states = ends.get(name) ?? [];
      if (states.length !== 1) {
        findings.add('one end', `run ${name} ended ${states.length} times: ${states.join(', ')}`);
      }
      if (run === row.run) continue;
      const old = history.get(name);
      if (old === undefined) findings.add('history', `run ${name} is not in the history`);
      else if (old.state !== states[0]) {
        findings.add('history', `run ${name} is ${old.state} there, ${states[0]} in the log`);
      }
    }
    if (!isTerminal(row.state)) findings.add('one end', `task ${key} is ${row.state} at the end`);
  }
}

/** Every run of every job ends exactly once. */
export function checkJobEndings({ tables, findings }: StoredEvidence): void {
  const ends = new Map<string, number>();
  for (const { kind, jobNo, run } of tables.events) {
    if (kind !== 'job.succeeded' && kind !== 'job.failed' && kind !== 'job.cancelled') continue;
    ends.set(`${jobNo}/${run}`, (ends.get(`${jobNo}/${run}`) ?? 0) + 1);
  }
  for (const job of tables.jobs.values()) {
    for (let run = 1; run <= job.run; run += 1) {
      const count = ends.get(`${job.no}/${run}`) ?? 0;
      if (count !== 1) findings.add('one end', `run ${run} of job ${job.id} ended ${count} times`);
    }
  }
}
