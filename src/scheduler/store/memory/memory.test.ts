import { instant } from '../../core/index.ts';
import { storeConformance } from '../../../../test/rig/conformance/store.ts';
import { openMemoryStore } from './memory.ts';

storeConformance('memory', async () => {
  const store = openMemoryStore({ now: () => instant(Date.now()) });
  return { store, reopen: async () => store, dispose: () => store.close() };
});
