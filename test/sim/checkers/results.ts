import type { Evidence } from './evidence.ts';

/** At most one accepted result an attempt, and what is stored is what was accepted. */
export function checkResults({ tables, journal, witness, replay, findings }: Evidence): void {
  const accepted = new Map<string, string | null>();
  for (const { lease, result } of witness.accepted) {
    const name = `${lease.jobNo}/${lease.taskNo}/${lease.fence}`;
    const before = accepted.get(name);
    if (before !== undefined && before !== result) {
      findings.add('results', `two results of ${name} were accepted: ${before} and ${result}`);
    }
    accepted.set(name, result);
    const end = journal.find(lease.jobNo, lease.taskNo, lease.fence, ['completed']);
    if (end === null) findings.add('results', `${name} was accepted, the log does not know it`);
    const stored = tables.results.get(`${lease.jobNo}/${lease.taskNo}/${end?.run}`)?.body ?? null;
    if (stored !== result) {
      findings.add('results', `${name} was accepted with ${result}, stored is ${stored}`);
    }
  }
  const succeeded = new Set(
    replay.ends.filter(({ state }) => state === 'succeeded').map(({ key, run }) => `${key}/${run}`),
  );
  for (const name of tables.results.keys()) {
    // What was given with a job is there before it is let in.
    const spec = tables.specs.get(name.slice(0, name.lastIndexOf('/')));
    if (spec?.options?.includes('"admission"') === true) continue;
    if (!succeeded.has(name)) findings.add('results', `run ${name} has a result, but no success`);
  }
}
