import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  aJob,
  aSpec,
  aTask,
  running,
  sessionId,
  succeeded,
  termId,
} from '../../../../test/rig/conformance/rows.ts';

const JOBS = 500;
const ROUNDS = 20;

/** Ids of the length that they have in life: a row that grows too much leaves its page. */
const lease = {
  term: termId('01932f5c-6a10-7c3e-9b7a-0123456789ab'),
  sessionId: sessionId('01932f5c-6a10-7c3e-9b7a-ba9876543210'),
};

/** A task that was stored while it waited is updated once, when it has ended: the two images must fit on its page. */
test('more than nine of ten task updates stay on their page and touch no index', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const numbers = Array.from({ length: JOBS }, (_, at) => round * JOBS + at + 1);
    await leader.commit({
      jobInserts: numbers.map((no) => aJob(no)),
      specInserts: numbers.map((no) => aSpec(no, 0)),
      taskInserts: numbers.map((no) => aTask(no, 0)),
    });
    await store.nodes(0);
    await leader.commit({ taskUpdates: numbers.map((no) => running(no, 0, lease)) });
    await leader.commit({
      taskUpdates: numbers.map((no) => succeeded(no, 0, { term: lease.term })),
    });
    await store.nodes(0);
  }
  // Counters are written when the session ends.
  await store.close();
  const sql = postgres(url, { max: 1 });
  onTestFinished(() => sql.end());
  const [row] = await sql`select n_tup_upd::int as updates, n_tup_hot_upd::int as hot
    from pg_stat_user_tables where schemaname = 'millrace' and relname = 'task'`;
  expect(row?.['updates']).toBe(JOBS * ROUNDS);
  expect((row?.['hot'] as number) / (row?.['updates'] as number)).toBeGreaterThan(0.9);
}, 60_000);
