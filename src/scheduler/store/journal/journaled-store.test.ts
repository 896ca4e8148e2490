import { instant } from '../../core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { storeConformance } from '../../../../test/rig/conformance/store.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

storeConformance('journaled', async () => {
  const tables = openMemoryStore({ now: () => instant(Date.now()) });
  const open = () => journaled(tables, { clock: systemClock, foldAfterMs: 5 });
  let store = open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = open();
      return store;
    },
    dispose: () => store.close(),
  };
});
