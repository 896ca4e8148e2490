/**
 * What a server knows of the processes that lead: it sees at once that one has crashed, and never that
 * one is paused. So candidates take over by that proof before the leader's time is up.
 */
import type { TermId } from '../../src/scheduler/core/index.ts';
import type {
  Campaign,
  Candidacy,
  LeaderInfo,
  MemoryStore,
} from '../../src/scheduler/store/index.ts';
import { intercepted } from './journal.ts';
import type { Life } from './process.ts';

const LOOK_MS = 200;

export class Desertion {
  readonly #lives: Map<TermId, Life> = new Map();

  /** The shared store: it takes a proof, if it is one. */
  wrap(store: MemoryStore): MemoryStore {
    return intercepted(store, {
      campaign: async (candidacy: Candidacy): Promise<Campaign> => {
        const { shard, vacated } = candidacy;
        const leader = vacated === undefined ? null : await store.leader(shard);
        const isGone = leader?.epoch === vacated && this.#isDeserted(leader);
        if (leader === null || !isGone) return store.campaign(candidacy);
        await store.resign({ shard, epoch: leader.epoch, id: leader.term });
        const campaign = await store.campaign(candidacy);
        const { nodeId, epoch } = leader;
        return campaign.won ? { ...campaign, previous: { nodeId, epoch, isGone } } : campaign;
      },
    });
  }

  /** One process's way to it. */
  through(store: MemoryStore, life: Life): MemoryStore {
    return intercepted(store, {
      campaign: (candidacy: Candidacy) => {
        this.#lives.set(candidacy.term, life);
        return store.campaign(candidacy);
      },
      whenVacant: async (shard: number, signal: AbortSignal) => {
        while (!signal.aborted) {
          const leader = await store.leader(shard).catch(() => null);
          if (this.#isDeserted(leader)) return leader?.epoch ?? null;
          await new Promise<void>((resolve) => {
            life.clock.after(LOOK_MS, resolve);
          });
        }
        return null;
      },
    });
  }

  #isDeserted(leader: LeaderInfo | null): boolean {
    return leader !== null && this.#lives.get(leader.term)?.isOver === true;
  }
}
