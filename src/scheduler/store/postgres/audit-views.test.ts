/** The views that people read with psql show what the store itself answers. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  aJob,
  aKey,
  aNode,
  aSpec,
  aTask,
  AT,
  nodeId,
  running,
  sessionId,
  succeeded,
} from '../../../../test/rig/conformance/rows.ts';
import { instant, JOB_STATES, jobNo, LOG_KINDS, TASK_STATES, taskNo } from '../../core/index.ts';

async function open() {
  const { store, url } = await openTestStore();
  const sql = postgres(url, { max: 1 });
  onTestFinished(() => sql.end());
  const leader = await TestLeader.of(store, 0);
  // The views show the tables, which follow a moment later. Whoever lists nodes is shown all, so the tables have it all then.
  const followed = async (): Promise<void> => void (await store.nodes(0));
  return { store, sql, leader, followed };
}

/** An event as the view shows it. */
type Shown = Readonly<Record<string, string | number | null>>;

test('every state of jobs and tasks has its word', async () => {
  const { sql, leader, followed } = await open();
  const ends = (at: number) => (at >= 2 ? AT : null);
  await leader.commit({
    jobInserts: JOB_STATES.map((state, at) => aJob(at + 1, { state, finishedAt: ends(at) })),
    specInserts: TASK_STATES.map((_, at) => aSpec(1, at)),
    taskInserts: TASK_STATES.map((state, at) => {
      const lease = { fence: 1, sessionId: sessionId('s') };
      return aTask(1, at, {
        state,
        ...(state === 'running' ? lease : {}),
        notBefore: state === 'delayed' ? AT : null,
        finishedAt: at >= 4 ? AT : null,
      });
    }),
  });
  await followed();
  const jobs = await sql`select state from millrace.jobs order by id`;
  expect(jobs.map(({ state }) => state as string)).toEqual([...JOB_STATES]);
  const tasks = await sql`select state from millrace.tasks where job = 'job-1' order by task`;
  expect(tasks.map(({ state }) => state as string)).toEqual([...TASK_STATES]);
});

test('leases name task, node, attempt, fence and beginning, and no session', async () => {
  const { sql, leader, followed } = await open();
  const lease = { nodeId: nodeId('w-1'), sessionId: sessionId('session-of-w-1'), fence: 7 };
  await leader.commit({
    nodeUpserts: [aNode('w-1')],
    jobInserts: [aJob(1)],
    specInserts: [0, 1, 2].map((no) => aSpec(1, no)),
    taskInserts: [
      running(1, 0, { ...lease, attempt: 3 }),
      running(1, 1, { ...lease, sessionId: sessionId('an older one'), startedAt: null }),
      succeeded(1, 2),
    ],
    keyUpserts: [aKey('order-7')],
  });
  await followed();
  const shown = { job: 'job-1', node: 'w-1', fence: '7', node_status: 'healthy' };
  expect([...(await sql`select * from millrace.leases order by task`)]).toEqual([
    { ...shown, task: 'task-0', attempt: 3, since: new Date(AT), is_held: true },
    { ...shown, task: 'task-1', attempt: 1, since: null, is_held: false },
  ]);
  const [task] = await sql`select node, attempt, state from millrace.tasks where task = 'task-2'`;
  expect(task).toEqual({ node: 'w-1', attempt: 1, state: 'succeeded' });
  const [key] = await sql`select * from millrace.idempotency_keys`;
  const at = new Date(AT);
  expect(key).toEqual({
    scope: 'echo/order-7',
    state: 'pending',
    job: 'job-1',
    task: 'task-0',
    updated_at: at,
  });
  const columns = await sql`
    select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'millrace' and column_name like '%session%'
       and table_name in ('jobs', 'tasks', 'leases', 'nodes', 'idempotency_keys', 'events')`;
  expect([...columns]).toEqual([]);
});

test('the log is the one that the store reads, kind by kind', async () => {
  const { store, sql, leader, followed } = await open();
  await leader.submit(aJob(5), [aSpec(5, 0), aSpec(5, 1)], [aTask(5, 0), aTask(5, 1)]);
  await leader.commit({
    events: LOG_KINDS.map((kind, at) => ({
      kind,
      at: instant(AT + 3 * at),
      jobNo: at % 3 === 0 ? null : jobNo(at % 3 === 1 ? 5 : 4),
      taskNo: at % 3 === 1 && at % 2 === 0 ? taskNo(1) : null,
      nodeId: at % 4 === 0 ? nodeId(`w "${at}"`) : null,
      run: at,
      attempt: at % 5 === 0 ? null : at,
      fence: at * 50_000_017,
      detail: at % 2 === 0 ? null : JSON.stringify({ note: 'a \u0000 "b" \\ ü' }),
    })),
  });
  await leader.commit({ events: [{ kind: 'queued', jobNo: jobNo(5), taskNo: taskNo(0) }] });
  // Alike, so they are stored as blocks; and more than the others, so that those chunks stay as they are.
  const alike = [4, 5, 6, 5, 4, 3, null, 5, 6].flatMap((job) => {
    const about = { nodeId: nodeId('w "1"'), jobNo: job === null ? null : jobNo(job), fence: 2 };
    return [
      { ...about, kind: 'assigned' as const, taskNo: job === 5 ? taskNo(1) : null },
      { ...about, kind: 'started' as const, detail: '"\\u0000 é"' },
    ];
  });
  for (const times of [1, 3]) {
    const events = alike.filter(({ jobNo: no }) => no !== jobNo(5));
    await leader.commit({ events: Array.from({ length: times }, () => events).flat() });
    await leader.commit({ events: Array.from({ length: times * 10 }, () => alike).flat() });
    await followed();
  }
  const [stored] =
    await sql`select count(*) as blocks from millrace.event_chunk where body like '{%'`;
  expect(Number(stored?.['blocks'])).toBeGreaterThan(0);
  const views = await store.events(0, 0, 1000);
  const rows = await sql<Shown[]>`
    select seq::integer, extract(epoch from at) * 1000 as at, event, job, task, node, run, attempt, fence::integer, detail
      from millrace.events order by seq`;
  expect(rows.map((row) => ({ ...row, at: Number(row['at']) }))).toEqual(
    views.map(({ seq, at, kind, jobId, taskId, nodeId: node, run, attempt, fence, detail }) => ({
      seq,
      at,
      event: kind,
      job: jobId,
      task: taskId,
      node,
      run,
      attempt,
      fence,
      detail,
    })),
  );
  expect(new Set(views.map(({ kind }) => kind))).toEqual(new Set(LOG_KINDS));
});
