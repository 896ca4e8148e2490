import type { Evidence } from './evidence.ts';

/** One lease a task, or two on different nodes; fences grow; leases are given by the leader of that moment only. */
export function checkLeases({ replay, journal, findings }: Evidence): void {
  for (const event of replay.doubles) {
    const what = `task ${event.jobNo}/${event.taskNo} was assigned to ${event.nodeId}`;
    findings.add('two leases', `${what} (event ${event.seq}) while others were open`);
  }
  const fences = new Map<string, number>();
  for (const { batch, term } of journal.commits) {
    for (const row of [...batch.taskInserts, ...batch.taskUpdates]) {
      const key = `${row.jobNo}/${row.taskNo}`;
      const before = fences.get(key) ?? 0;
      fences.set(key, row.fence);
      if (row.fence < before) findings.add('fences', `task ${key}: ${row.fence} after ${before}`);
      if (row.fence > before && row.term !== term.id) {
        const what = `task ${key} fence ${row.fence} was given by ${row.term}`;
        findings.add('terms', `${what} in a commit of ${term.id}`);
      }
    }
  }
}

/** Whoever commits leads at that moment, and epochs only grow. */
export function checkTerms({ journal, findings }: Evidence): void {
  const terms = journal.terms;
  terms.forEach(({ term }, at) => {
    const before = terms[at - 1];
    // After a rewind a candidate asks for an epoch above all that it has seen.
    const isNext = before === undefined || term.epoch === before.term.epoch + 1;
    const isLater = before === undefined || term.epoch > before.term.epoch;
    if (before !== undefined && !(journal.rewinds > 0 ? isLater : isNext)) {
      findings.add('terms', `epoch ${term.epoch} follows ${before.term.epoch}`);
    }
  });
  let at = -1;
  for (const commit of journal.commits) {
    while ((terms[at + 1]?.atMs ?? Infinity) < commit.atMs) at += 1;
    const candidates = [terms[at], terms[at + 1]].map((leaderTerm) => leaderTerm?.term.id);
    if (!candidates.includes(commit.term.id)) {
      findings.add('terms', `a commit of ${commit.term.id} (epoch ${commit.term.epoch}) came late`);
    }
  }
}
