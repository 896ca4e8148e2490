import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeId, SessionId } from '../../src/scheduler/core/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import { LeaderChannel, workerChannel } from '../../src/edge/grpc/index.ts';
import type { WorkerService } from '../../src/scheduler/contract/index.ts';
import { complaint, eventsOf, expectCleanEnd, startScene, until } from './scene.ts';
import type { Scene } from './scene.ts';

const SHORT_TTL = { sessionTtlMs: 2_500, nodeDeadMs: 3_500 };

async function statusOf({ cluster }: Scene, node: string): Promise<string | undefined> {
  return (await cluster.client.nodes()).find(({ id }) => id === node)?.status;
}

const isStatus = (scene: Scene, node: string, status: string | undefined): Promise<true> =>
  until(async () => (await statusOf(scene, node)) === status && true, `${node} to be ${status}`);

/** By the log: as a status it may last for a moment only. */
async function isCalled({ cluster }: Scene, node: string, kind: string): Promise<void> {
  await cluster.client.waitForEvent(
    ({ event, data }) =>
      event === kind && (JSON.parse(data) as { readonly node: string | null }).node === node,
  );
}

test('a worker that sleeps through its TTL finds its task elsewhere, stops its own, and comes back', async () => {
  const scene = await startScene({ workers: 1, settings: { ...SHORT_TTL, nodeForgetMs: 200 } });
  const { cluster } = scene;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin', attempt: 1 });
  await cluster.startWorker();
  const sleeper = cluster.node('w-1').process;
  expect(await statusOf(scene, 'w-1')).toBe('healthy');
  sleeper.pause();
  await isCalled(scene, 'w-1', 'node.stale');
  await cluster.effects.wait({ job: id, what: 'begin', attempt: 2 });
  await isCalled(scene, 'w-1', 'node.dead');
  // Forgotten: to the leader this node is unknown, and it registers like any other.
  await isStatus(scene, 'w-1', undefined);
  sleeper.resume();
  await cluster.effects.wait({ job: id, what: 'aborted', attempt: 1 });
  await isStatus(scene, 'w-1', 'healthy');
  writeFileSync(file, '');
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 2, node: 'w-2' }] });
  expect(cluster.effects.all({ job: id, what: 'end' })).toMatchObject([{ attempt: 2 }]);
  await expectCleanEnd(scene);
});

/** A worker of which only the words are real: it may say what a real one would keep to itself. */
function wordsOf(server: string): WorkerService {
  const channel = new LeaderChannel({ addresses: [server], tls: null, token: () => null });
  onTestFinished(() => channel.close());
  return workerChannel({ channel, pollWaitMs: 5_000 });
}

test('what a zombie reports after its TTL is refused, and the result of the other one stands', async () => {
  const scene = await startScene({ workers: 0, settings: SHORT_TTL });
  const { cluster } = scene;
  const leader = wordsOf((await cluster.leading()).plan.grpc);
  const session = { nodeId: 'zombie' as NodeId, sessionId: 's-1' as SessionId };
  const offer = {
    id: session.nodeId,
    sessionId: session.sessionId,
    slots: 1,
    prefetch: 0,
    executors: ['note'],
    capabilities: {},
    address: null,
    version: ownHandshake().millrace,
  };
  await leader.register(offer, ownHandshake());
  const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  const poll = { ...session, pollNo: 1, capacity: 1, held: [] };
  const { assignments } = await leader.poll(poll, new AbortController().signal);
  const [assignment] = assignments;
  expect(assignment?.taskId).toBe('a');
  if (assignment === undefined) return;
  await cluster.startWorker();
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ node: 'w-1', attempt: 2 }] });
  const { lease } = assignment;
  await expect(
    leader.report(session, [{ kind: 'completed', lease, result: '"from the grave"' }]),
  ).rejects.toMatchObject({
    code: expect.stringMatching(/superseded|unknown_session/) as string,
  });
  // Also under a new name: the lease itself is over.
  const again = { ...session, sessionId: 's-2' as SessionId };
  await leader.register({ ...offer, sessionId: again.sessionId }, ownHandshake());
  const { verdicts } = await leader.report(again, [
    { kind: 'completed', lease, result: '"from the grave"' },
  ]);
  expect(verdicts).toEqual(['lost']);
  expect((await cluster.client.job(id)).tasks[0]?.result).toMatchObject({ signed: { attempt: 2 } });
  await leader.leave(again);
  await expectCleanEnd(scene);
});

test('of five workers exactly one runs a task', async () => {
  const scene = await startScene({ workers: 5 });
  const { cluster } = scene;
  for (let round = 0; round < 5; round += 1) {
    const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
    const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'assigned')).toHaveLength(1);
    expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  }
  await expectCleanEnd(scene);
});

test('a handler that blocks its thread for longer than the TTL keeps its lease', async () => {
  const scene = await startScene({ workers: 2, settings: SHORT_TTL });
  const { cluster } = scene;
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'block', input: { ms: 4_000 } }],
  });
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 1 }] });
  const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
  expect(kinds).not.toContain('reassigned');
  expect(kinds.filter((kind) => kind === 'completed')).toHaveLength(1);
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  await expectCleanEnd(scene);
});

test('a handler that ignores its abort costs its process after the grace, and the task runs elsewhere', async () => {
  const scene = await startScene({ workers: 0, settings: { backoffMs: 50 } });
  const { cluster } = scene;
  const module = cluster.file('deaf-once.mjs');
  writeFileSync(
    module,
    `export const deafOnce = { kind: 'millrace.task', name: 'deafOnce',
       run: (_, { attempt }) => (attempt === 1 ? new Promise(() => {}) : 'heard') };`,
  );
  const options = { modules: [module], args: ['--abort-grace-ms', '300'] };
  await Promise.all(['w-1', 'w-2'].map((id) => cluster.startWorker({ ...options, id })));
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'deafOnce', timeouts: { runMs: 500 } }],
  });
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 2, result: 'heard' }] });
  const deaf = (await eventsOf(cluster, id)).find(({ kind }) => kind === 'assigned')?.node ?? '';
  expect(job.tasks[0]?.node).not.toBe(deaf);
  expect(await cluster.node(deaf).process.exited).toMatchObject({ code: 1 });
  await complaint(cluster.node(deaf).process, /was told to stop 300 ms ago/);
  await expectCleanEnd(scene);
});

test('a run timeout and a cancel reach the handler on another node', async () => {
  const scene = await startScene({ workers: 1 });
  const { cluster } = scene;
  const late = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'hang', timeouts: { runMs: 300 }, retry: { maxAttempts: 1 } }],
  });
  const unwanted = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'hang' }] });
  await cluster.effects.wait({ job: unwanted.id, what: 'begin' });
  await cluster.client.cancel(unwanted.id);
  await cluster.effects.wait({ job: unwanted.id, what: 'aborted' });
  expect(await cluster.client.waitForJob(unwanted.id)).toMatchObject({
    state: 'cancelled',
    tasks: [{ state: 'cancelled' }],
  });
  await cluster.effects.wait({ job: late.id, what: 'aborted' });
  const job = await cluster.client.waitForJob(late.id);
  expect(job.state).toBe('failed');
  expect(job.tasks[0]?.error?.message).toMatch(/timeouts\.runMs/);
  await expectCleanEnd(scene);
});
