import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { JsonText } from '../../scheduler/contract/index.ts';
import { openTestStore } from '../../../test/rig/millrace-database.ts';
import { instant, jobNo, taskNo } from '../../scheduler/core/index.ts';
import { systemClock } from '../../kit/index.ts';
import { openDuckdbStore, openMemoryStore } from '../../scheduler/store/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { TestLeader } from '../../../test/rig/conformance/leader.ts';
import * as row from '../../../test/rig/conformance/rows.ts';
import { EventFeed } from './event-feed.ts';
import { StoreReader } from './store-reader.ts';

const memory = (): Store => openMemoryStore({ now: () => instant(row.AT + 1_000) });

async function duckdb(): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-views-'));
  const store = await openDuckdbStore({ path: join(folder, 'store.db') });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return store;
}

async function postgres(): Promise<Store> {
  return (await openTestStore()).store;
}

const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });

/** Everything that a shape can show, at least once. */
async function fill(store: Store): Promise<void> {
  const leader = await TestLeader.of(store, 0);
  const error = { code: 'dead', message: 'All 3 attempts failed: "é" \\ \n' };
  const dead = row.running(1, 1, { state: 'failed', sessionId: null, error, finishedAt: row.AT });
  await leader.submit(
    row.aJob(1, { idempotencyKey: 'k', taskCount: 3, state: 'failed', error, finishedAt: row.AT }),
    [
      row.aSpec(1, 0),
      row.aSpec(1, 1, { executor: 'http', dependsOn: [0] }),
      row.aSpec(1, 2, { parentNo: taskNo(0), dependsOn: [0, ~1] }),
    ],
    [row.succeeded(1, 0), dead, row.aTask(1, 2, { state: 'skipped', finishedAt: row.AT })],
  );
  const result = { text: 'ünï', list: [1, null, 1e300] };
  await leader.commit({ results: [{ ...ref(1, 0), run: 1, body: JSON.stringify(result) }] });
  await leader.commit({
    archived: [ref(1, 1)],
    taskUpdates: [{ ...dead, run: 2, fence: 2 }],
  });
  await leader.submit(row.aJob(2), [row.aSpec(2, 0)], [row.running(2, 0)]);
  const output = '{"said":{"$from":"task-0","path":"/text"}}';
  await leader.submit(
    row.aJob(3, { state: 'succeeded', finishedAt: row.AT, output }),
    [row.aSpec(3, 0)],
    [row.succeeded(3, 0)],
  );
  await leader.commit({ results: [{ ...ref(3, 0), run: 1, body: JSON.stringify(result) }] });
  await leader.commit({
    nodeUpserts: [row.aNode('w-1', { capabilities: '{"gpu":"nvidia","cpu_cores":8}' })],
    scheduleUpserts: [row.aSchedule('s', { spec: '{"timing":{"everyMs":1000}}' })],
    events: [
      { jobNo: jobNo(1), taskNo: taskNo(1), attempt: 3, detail: '{"why":"ü"}' },
      { jobNo: jobNo(2), kind: 'job.created' },
      { kind: 'node.registered', nodeId: row.nodeId('w-1') },
    ],
  });
}

/** All that can be read, without what differs by clock. */
async function seen(store: Store): Promise<object> {
  const feed = new EventFeed({ store, clock: systemClock });
  const reader = new StoreReader({ store, feed });
  const followed: unknown[] = [];
  for (const job of [undefined, row.jobId('job-1')]) {
    const query = { after: 0, ...(job === undefined ? {} : { job }) };
    for await (const page of reader.follow(query, new AbortController().signal)) {
      followed.push(page.events, page.asOf.seq);
      break;
    }
  }
  return {
    leader: await reader.leader(),
    jobs: (await reader.jobs({ limit: 10 })).value,
    failed: (await reader.jobs({ limit: 1, state: 'failed', name: 'nightly' })).value,
    one: (await reader.job(row.jobId('job-1'))).value,
    two: (await reader.job(row.jobId('job-2'))).value,
    three: (await reader.job(row.jobId('job-3'))).value,
    dead: (await reader.deadTasks({ limit: 10 })).value,
    nodes: (await reader.nodes()).value,
    schedules: (await reader.schedules()).value,
    head: (await reader.head()).seq,
    followed,
  };
}

test.each([
  ['DuckDB', duckdb],
  ['PostgreSQL', postgres],
])('%s is read as the memory is, to the letter', async (_name, open) => {
  const [model, store] = [memory(), await open()];
  await fill(model);
  await fill(store);
  const expected = await seen(model);
  expect(await seen(store)).toEqual(expected);
  expect(expected).toMatchObject({
    head: 3,
    one: {
      tasks: [
        { result: new JsonText('{"text":"ünï","list":[1,null,1e+300]}') },
        { run: 2, dependsOn: ['task-0'] },
        { parent: 'task-0', dependsOn: ['task-0', 'task-1'] },
      ],
      history: [{ id: 'task-1', run: 1 }],
    },
    two: { result: null },
    three: { result: { said: 'ünï' } },
    dead: { items: [{ job: 'job-1', task: 'task-1', executor: 'http' }] },
    nodes: [{ id: 'w-1', running: 1, capabilities: { gpu: 'nvidia' } }],
  });
});
