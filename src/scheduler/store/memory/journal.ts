/** Commits of a shard that its tables do not have yet. */
import type { Fold, JournalState, NewRecord } from '../journal/port.ts';
import { rewound } from '../refusals.ts';
import type { Counters, Term } from '../store.ts';
import { applyBatch } from './apply.ts';
import type { Shard } from './shard.ts';

/** The counters after the last commit. */
export function headOf(shard: Shard): Counters {
  const { commitNo, lastSeq, nextJobNo } = shard.journal.at(-1) ?? shard;
  return { commitNo, lastSeq, nextJobNo };
}

export function stateOf(shard: Shard): JournalState {
  const term = shard.leaderTerm?.term ?? null;
  const { commitNo: foldedNo, settledNo } = shard;
  return { term, head: headOf(shard), foldedNo, settledNo: settledNo ?? foldedNo };
}

export function recordsAfter({ journal }: Shard, after: number): Shard['journal'] {
  return journal.filter(({ commitNo }) => commitNo > after);
}

export function appendRecord(shard: Shard, term: Term, record: NewRecord): Shard {
  const { commitNo } = headOf(shard);
  const last = record.commitNo - 1;
  if (commitNo !== last) throw rewound(term, last, commitNo);
  if (shard.commitNo < record.foldedNo) throw rewound(term, record.foldedNo, shard.commitNo);
  shard.journal.push({ ...record, term: term.id });
  return shard;
}

export function foldRecords(shard: Shard, fold: Fold): boolean {
  const { after, settledBefore, settledNo, term, batch, history } = fold;
  const last = shard.journal.find(({ commitNo }) => commitNo === batch.commitNo);
  if (shard.commitNo !== after || last?.term !== term) return false;
  if ((shard.settledNo ?? after) !== settledBefore) return false;
  applyBatch(shard, batch, { history, isFold: true });
  shard.settledNo = settledNo === batch.commitNo ? null : settledNo;
  shard.journal = shard.journal.filter(({ commitNo }) => commitNo > settledNo);
  return true;
}
