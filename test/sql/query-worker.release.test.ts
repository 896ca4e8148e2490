/** A worker process that runs fragments for a leader in name only. */
import { access, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobId, TaskId } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import type { WorkerReport } from '../../src/scheduler/contract/index.ts';
import type { FragmentResult, FragmentTask } from '../../src/sql/plan/index.ts';
import { within } from '../rig/cluster/deadline.ts';
import { TestProcess } from '../rig/cluster/process.ts';
import { FakeLeader, assignment } from '../rig/fake-leader.ts';
import { fragment, fragmentTask } from '../rig/fragment-node.ts';
import { openDoor } from '../rig/leader-entry.ts';
import { until } from '../rig/until.ts';

let data: string;

beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'millrace-query-worker-'));
});
afterAll(() => rm(data, { recursive: true, force: true }));

async function start(leader: FakeLeader): Promise<TestProcess> {
  leader.onRegister = () => Promise.resolve({ sessionTtlMs: 20_000, heartbeatMs: 1_000 });
  const server = await openDoor(leader);
  const worker = TestProcess.start([
    ...['worker', '--server', server, '--node-id', 'w-1', '--data', data],
    ...['--slots', '2', '--memory', '400MB', '--expect', 'sql.fragment'],
  ]);
  await worker.line(/^millrace worker ready w-1$/);
  return worker;
}

/** What is said of the end of a fragment. */
function ran(leader: FakeLeader, no: number, task: FragmentTask): Promise<WorkerReport> {
  const ended = deferred<WorkerReport>();
  leader.onReport = (items) => {
    const item = items.find(({ kind }) => kind !== 'started' && kind !== 'progress');
    if (item !== undefined) ended.resolve(item);
    return Promise.resolve();
  };
  leader.give(
    assignment(no, 'sql.fragment', {
      jobId: 'query' as JobId,
      taskId: `s0.${no}` as TaskId,
      input: JSON.stringify(task),
    }),
  );
  return within(20_000, ended.promise, () => `reported so far: ${leader.reported.join(', ')}`);
}

const numbers = fragmentTask({
  fragment: fragment({
    sql: 'SELECT i AS c0 FROM range(1000) t(i)',
    columns: [{ name: 'c0', type: 'BIGINT' }],
  }),
});

const endless = fragmentTask({
  fragment: fragment({
    sql: 'SELECT count(*) AS c0 FROM range(1e12::BIGINT) a(i), range(1e6::BIGINT) b(j) WHERE i * j % 7 = 3',
    columns: [{ name: 'c0', type: 'BIGINT' }],
  }),
});

function resultOf(item: WorkerReport): FragmentResult {
  if (item.kind !== 'completed') throw new Error(JSON.stringify(item));
  return JSON.parse(item.result ?? '') as FragmentResult;
}

/** Processes that this one has started and that still live. */
async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test('it runs fragments, keeps their outputs while they are needed, and leaves nothing', async () => {
  const leader = new FakeLeader();
  const worker = await start(leader);
  expect(leader.registered[0]?.capabilities).toMatchObject({
    duckdb: expect.stringMatching(/^v\d+\.\d+\.\d+$/) as string,
    memory_bytes: 400_000_000,
    roots: [],
  });
  const { at, parts } = resultOf(await ran(leader, 1, numbers));
  expect(parts).toMatchObject([{ rows: 1_000 }]);
  expect(await ran(leader, 3, { ...numbers, requires: ['geo'] })).toMatchObject({
    kind: 'failed',
    failure: 'missing',
    missing: 'geo',
    error: { message: "custom physical operator 'geo' is not registered on worker" },
  });
  expect(at).toMatchObject({ node: 'w-1', address: leader.registered[0]?.address, task: 's0.1' });
  await access(at.folder);
  // It does not leave while somebody may still read from it.
  const asked = deferred();
  const over = deferred();
  leader.onUnneeded = async (queries, kind) => {
    expect(kind).toBe('inner');
    asked.resolve();
    await over.promise;
    return queries;
  };
  worker.kill('SIGTERM', 'process');
  await asked.promise;
  expect(leader.left).toEqual([]);
  await access(at.folder);
  over.resolve();
  expect(await worker.exited).toMatchObject({ code: 0 });
  expect(leader.left).toHaveLength(1);
  expect(await readdir(data)).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'killed in the middle it takes its engines along, and the next worker sweeps what it left',
  async () => {
    const leader = new FakeLeader();
    const worker = await start(leader);
    await ran(leader, 1, numbers);
    void ran(leader, 2, endless).catch(() => {});
    const { pid } = worker;
    const engines = await childrenOf(pid);
    expect(engines.length).toBeGreaterThan(0);
    worker.kill('SIGKILL', 'process');
    await worker.exited;
    expect(await readdir(join(data, 'shuffle'))).toHaveLength(1);
    await until(() => Promise.resolve(!engines.some(isAlive)), 'the engines live on');
    const next = new FakeLeader();
    const other = await start(next);
    expect(await readdir(join(data, 'shuffle'))).toEqual([]);
    other.kill('SIGTERM', 'process');
    expect(await other.exited).toMatchObject({ code: 0 });
  },
);
