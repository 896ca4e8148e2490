import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { openPooler } from '../../../../test/rig/cluster/pooler.ts';
import { storeConformance } from '../../../../test/rig/conformance/store.ts';
import { openPostgresStore } from './open.ts';

storeConformance('PostgreSQL behind a transaction pooler', async () => {
  const database = await millraceDatabase();
  const pooler = await openPooler(database.url);
  let store = await openPostgresStore({ url: pooler.url });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openPostgresStore({ url: pooler.url });
      return store;
    },
    dispose: async () => {
      await store.close();
      pooler.close();
      await database.drop();
    },
  };
});
