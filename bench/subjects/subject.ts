import type { Batch, TermId } from '../../src/scheduler/core/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';

/** Something that takes batches. */
export interface Subject {
  readonly name: string;
  commit(batch: Batch): Promise<void>;
  close(): Promise<void>;
}

/** Long enough for any benchmark: no renewal gets in the way. */
const TTL_MS = 600_000;

/** A store as its leader sees it, term check included. */
export async function storeSubject(store: Store): Promise<Subject> {
  const candidacy = { shard: 0, nodeId: 'bench', url: null, grpc: null, ttlMs: TTL_MS };
  const campaign = await store.campaign({ ...candidacy, term: 'bench' as TermId });
  if (!campaign.won) throw new Error(`${campaign.leader.nodeId} leads this store`);
  return {
    name: store.kind,
    commit: async (batch) => {
      await store.commit(campaign.term, TTL_MS, batch);
    },
    close: () => store.close(),
  };
}
