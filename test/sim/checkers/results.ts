import type { JobNo } from '../../../src/scheduler/core/index.ts';
import type { Evidence } from './evidence.ts';

/** At most one accepted result a run, whatever attempts there were, what is stored is what was accepted, and it is the
 * job's own. */
export function checkResults({ tables, journal, witness, replay, findings }: Evidence): void {
  for (const { jobNo, taskNo, run, fence, seq } of replay.repeats) {
    const what = `run ${jobNo}/${taskNo}/${run} succeeded again with fence ${fence}`;
    findings.add('one result', `${what} (event ${seq})`);
  }
  const accepted = new Map<string, string | null>();
  for (const { lease, result, event } of witness.accepted) {
    // What a rewind has taken away is not there, and need not be.
    if (!journal.isCurrent(event)) continue;
    const name = `${lease.jobNo}/${lease.taskNo}/${lease.fence}`;
    const before = accepted.get(name);
    if (before !== undefined && before !== result) {
      findings.add('results', `two results of ${name} were accepted: ${before} and ${result}`);
    }
    accepted.set(name, result);
    const stored = tables.results.get(`${lease.jobNo}/${lease.taskNo}/${event.run}`)?.body ?? null;
    if (stored !== result) {
      findings.add('results', `${name} was accepted with ${result}, stored is ${stored}`);
    }
  }
  for (const { key, run, state, event } of replay.ends) {
    // One that was taken over from another task under the same key says so.
    if (state !== 'succeeded' || event.detail !== null || event.nodeId === null) continue;
    const body = tables.results.get(`${key}/${run}`)?.body ?? 'null';
    const job = (JSON.parse(body) as { readonly job?: string } | null)?.job;
    const own = tables.jobs.get(event.jobNo as JobNo)?.id;
    if (job !== undefined && job !== own) {
      findings.add('results', `run ${run} of ${own}, task ${key}, has a result of ${job}`);
    }
  }
  const succeeded = new Set(
    replay.ends.filter(({ state }) => state === 'succeeded').map(({ key, run }) => `${key}/${run}`),
  );
  for (const name of tables.results.keys()) {
    // What was given with a job is there before it is admitted.
    const spec = tables.specs.get(name.slice(0, name.lastIndexOf('/')));
    if (spec?.options?.includes('"admission"') === true) continue;
    if (!succeeded.has(name)) findings.add('results', `run ${name} has a result, but no success`);
  }
}
