import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { storeConformance } from '../../../../test/rig/conformance/store.ts';
import { openPostgresStore } from './open.ts';

storeConformance('PostgreSQL', async () => {
  const database = await millraceDatabase();
  let store = await openPostgresStore({ url: database.url });
  return {
    store,
    reopen: async () => {
      await store.close();
      store = await openPostgresStore({ url: database.url });
      return store;
    },
    dispose: async () => {
      await store.close();
      await database.drop();
    },
  };
});
