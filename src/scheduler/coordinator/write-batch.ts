import type { SchedulerState } from '../core/index.ts';
import type { CommitBatch } from './commit-batch.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';

/** What is left to do when a batch and all those before it are durable. */
export type Afterwards = () => void;

type Writer = Pick<DispatcherOptions, 'store' | 'leaderTerm' | 'clock' | 'onCommitted'>;

/** Answers without changes need no commit, but they do need a leader that is one. */
export async function writeBatch(
  { effects, makesPromises }: CommitBatch,
  state: SchedulerState,
  { store, leaderTerm, clock, onCommitted }: Writer,
): Promise<Afterwards> {
  if (effects.isEmpty) {
    if (leaderTerm.isRenewalDue || makesPromises) await leaderTerm.renew();
    return () => {};
  }
  const sentAtMs = clock.monotonicMs();
  const rows = effects.batch(state);
  // The next batch follows on this one; if that is not made, the state is dropped.
  state.commitNo = rows.commitNo;
  const { term, ttlMs } = leaderTerm;
  const at = await leaderTerm.renewedBy(() => store.commit(term, ttlMs, rows));
  const tookMs = clock.monotonicMs() - sentAtMs;
  return () => {
    leaderTerm.acknowledged = rows;
    onCommitted?.(rows, at, tookMs);
  };
}
