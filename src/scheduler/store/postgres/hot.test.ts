import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  AT,
  aJob,
  aSpec,
  aTask,
  running,
  sessionId,
  succeeded,
  termId,
} from '../../../../test/rig/conformance/rows.ts';

const JOBS = 250;
const ROUNDS = 20;

/** Ids of the length that they have in life: a row that grows too much leaves its page. */
const lease = {
  term: termId('01932f5c-6a10-7c3e-9b7a-0123456789ab'),
  sessionId: sessionId('01932f5c-6a10-7c3e-9b7a-ba9876543210'),
};
const ended = { term: lease.term, finishedAt: AT };

/** What was stored while it waited is updated once, when it has ended: the two images must fit on a page. */
test('more than nine of ten updates of jobs and tasks stay on their page and touch no index', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    const numbers = Array.from({ length: JOBS * 2 }, (_, at) => round * JOBS * 2 + at + 1);
    // Every second task has a key, which keeps it in the table of tasks.
    const key = (no: number) => (no % 2 === 0 ? `key-${no}` : null);
    await leader.commit({
      jobInserts: numbers.map((no) => aJob(no, { state: 'queued' })),
      specInserts: numbers.map((no) => aSpec(no, 0, { idempotencyKey: key(no) })),
      taskInserts: numbers.map((no) => aTask(no, 0)),
    });
    await store.nodes(0);
    await leader.commit({ taskUpdates: numbers.map((no) => running(no, 0, lease)) });
    await leader.commit({
      jobUpdates: numbers.map((no) => aJob(no, { state: 'succeeded', finishedAt: AT })),
      taskUpdates: numbers.map((no) => succeeded(no, 0, ended)),
    });
    await store.nodes(0);
  }
  // Counters are written when the session ends.
  await store.close();
  const sql = postgres(url, { max: 1 });
  onTestFinished(() => sql.end());
  const tables =
    await sql`select relname as name, n_tup_upd::int as updates, n_tup_hot_upd::int as hot
    from pg_stat_user_tables where schemaname = 'millrace' and relname in ('job', 'task') order by 1`;
  expect(tables.map(({ name }) => name as string)).toEqual(['job', 'task']);
  for (const { updates, hot } of tables) {
    expect(updates).toBeGreaterThanOrEqual(JOBS * ROUNDS);
    expect((hot as number) / (updates as number)).toBeGreaterThan(0.9);
  }
}, 60_000);
