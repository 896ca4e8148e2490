import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import type { NodeId, SessionId } from '../../src/scheduler/core/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import { LeaderChannel, workerChannel } from '../../src/edge/grpc/index.ts';
import type { Effect } from '../rig/cluster/effects-log.ts';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const SHORT_TTL = { sessionTtlMs: 2_500, nodeDeadMs: 30_000 };

interface Partitioned extends TestCluster {
  /** From the worker w-1 to the leader. */
  readonly proxy: Proxy;
  readonly file: string;
  readonly job: string;
}

/** w-1 runs a task and is about to lose its leader; w-2 is near. */
async function aboutToPartition(): Promise<Partitioned> {
  const fixture = await startTestCluster({ workers: 0, settings: SHORT_TTL });
  const { cluster } = fixture;
  const proxy = await Proxy.start(targetOf(`tcp://${(await cluster.leading()).plan.grpc}`));
  await cluster.startWorker({ servers: [proxy.address] });
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  await cluster.startWorker();
  return { ...fixture, proxy, file, job: id };
}

const steps = (effects: readonly Effect[]): string[] =>
  effects.map(({ what, attempt }) => `${what} ${attempt}`);

test.each(['requests', 'answers', 'both'] as const)(
  'a worker that loses its leader (%s lost) stops its work before another one begins it',
  async (direction) => {
    const partitioned = await aboutToPartition();
    const { cluster, proxy, file, job } = partitioned;
    proxy.drop(direction);
    await cluster.effects.wait({ job, what: 'begin', attempt: 2 });
    expect(steps(cluster.effects.all({ job }))).toEqual(['begin 1', 'aborted 1', 'begin 2']);
    await proxy.heal();
    writeFileSync(file, '');
    expect(await cluster.client.waitForJob(job)).toMatchObject({
      state: 'succeeded',
      tasks: [{ node: 'w-2' }],
    });
    const isBack = async (): Promise<boolean> =>
      (await cluster.client.nodes()).some(({ id, status }) => id === 'w-1' && status === 'healthy');
    await until(isBack, 'w-1 to be back');
    const next = await cluster.client.submit({
      tasks: [{ id: 'b', executor: 'note', placement: { allowedNodes: ['w-1'] } }],
    });
    expect(await cluster.client.waitForJob(next.id)).toMatchObject({ state: 'succeeded' });
    await expectCleanEnd(partitioned);
  },
);

test('connections that are cut or go half-open for less than the TTL cost nothing', async () => {
  const partitioned = await aboutToPartition();
  const { cluster, proxy, file, job } = partitioned;
  const before = proxy.accepted;
  proxy.cut();
  await until(async () => proxy.accepted > before, 'w-1 to connect again');
  proxy.drop();
  // While the worker hears nothing, its leader does its work.
  const next = await cluster.client.submit({
    tasks: [{ id: 'b', executor: 'note', placement: { allowedNodes: ['w-2'] } }],
  });
  await cluster.client.waitForJob(next.id);
  await proxy.heal();
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(job)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-1', attempt: 1 }],
  });
  expect(steps(cluster.effects.all({ job }))).toEqual(['begin 1', 'end 1']);
  await expectCleanEnd(partitioned);
});

test('a worker that knows several nodes goes on with the next leader, and keeps what it runs', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  await cluster.node('n-1').process.crash();
  const next = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
  await cluster.client.waitForJob(next.id);
  writeFileSync(file, '');
  expect(await cluster.client.waitForJob(id)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-1', attempt: 1 }],
  });
  expect((await cluster.leading()).id).toBe('n-2');
  const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
  expect(kinds).not.toContain('reassigned');
  await expectCleanEnd(fixture);
});

test('a worker that is there before any leader waits, and then works', async () => {
  const fixture = await startTestCluster({ leaders: 0, workers: 0 });
  const { cluster } = fixture;
  const node = await cluster.planNode();
  const worker = await cluster.planWorker();
  const started = worker.launch();
  await stderrLine(started, /No leader has accepted the registration yet/);
  await node.start();
  await started.line(/^millrace worker ready w-1$/);
  const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  await expectCleanEnd(fixture);
});

test('a worker of another protocol or version is refused, with the mismatch in the error', async () => {
  const { cluster } = await startTestCluster({ workers: 0 });
  const { grpc } = (await cluster.leading()).plan;
  const channel = new LeaderChannel({ addresses: [grpc], tls: null, token: () => null });
  onTestFinished(() => channel.close());
  const leader = workerChannel({ channel });
  const own = ownHandshake();
  const offer = {
    id: 'old' as NodeId,
    sessionId: 's' as SessionId,
    slots: 1,
    prefetch: 0,
    executors: ['note'],
    capabilities: {},
    address: null,
    version: own.millrace,
  };
  await expect(leader.register(offer, { ...own, protocol: 99 })).rejects.toMatchObject({
    code: 'incompatible',
    what: expect.stringMatching(
      /^The worker runs protocol 99, the leader protocol \d+\.$/,
    ) as string,
  });
  await expect(leader.register(offer, { ...own, millrace: '9.0.0' })).rejects.toMatchObject({
    code: 'incompatible',
    what: expect.stringContaining('Millrace 9.0.0') as string,
  });
  expect((await cluster.client.nodes()).map(({ id }) => id)).not.toContain('old');
});
