import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance } from '../../../../test/rig/conformance/store.ts';
import { openDuckdbStore } from './duckdb.ts';

storeConformance('DuckDB', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-duckdb-'));
  const path = join(folder, 'store.db');
  let store = await openDuckdbStore({ path });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openDuckdbStore({ path });
      return store;
    },
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
