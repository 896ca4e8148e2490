/** What the parts of a store suite work with. */
import { afterAll, beforeAll } from 'vitest';
import type { Store } from '../../../src/scheduler/store/index.ts';
import { TestLeader } from './leader.ts';

export interface OpenedStore {
  readonly store: Store;
  /** Closes the store and opens it again, as after a restart. */
  readonly reopen?: () => Promise<Store>;
  readonly dispose: () => Promise<void>;
}

/** One shared store, and a shard of its own for each test. */
export interface Bench {
  readonly store: () => Store;
  readonly newShard: () => number;
  readonly newLeader: () => Promise<TestLeader>;
  /** For tests that need a store to themselves. */
  readonly withOpened: (use: (opened: OpenedStore) => Promise<void>) => Promise<void>;
}

export function benchOf(open: () => Promise<OpenedStore>): Bench {
  let shared: OpenedStore | undefined;
  let lastShard = 0;
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(async () => {
    await shared?.dispose();
  });
  const store = (): Store => {
    if (shared === undefined) throw new Error('the store is opened before the first test');
    return shared.store;
  };
  const newShard = (): number => {
    lastShard += 1;
    return lastShard;
  };
  return {
    store,
    newShard,
    newLeader: () => TestLeader.of(store(), newShard()),
    withOpened: async (use) => {
      const opened = await open();
      try {
        await use(opened);
      } finally {
        await opened.dispose();
      }
    },
  };
}
