import { expect, onTestFinished, test } from 'vitest';
import type { NodeId, SessionId } from '../../src/scheduler/core/index.ts';
import { ownHandshake } from '../../src/scheduler/contract/index.ts';
import { LeaderChannel, workerChannel } from '../../src/edge/grpc/index.ts';
import type { WorkerService } from '../../src/scheduler/contract/index.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

const SHORT_TTL = { sessionTtlMs: 2_500, nodeDeadMs: 3_500 };

/** A worker of which only the words are real: it may say what a real one would keep to itself. */
function wordsOf(server: string): WorkerService {
  const channel = new LeaderChannel({ addresses: [server], tls: null, token: () => null });
  onTestFinished(() => channel.close());
  return workerChannel({ channel, pollWaitMs: 5_000 });
}

test('a report of a paused worker after its TTL is refused, and the other result stands', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: SHORT_TTL });
  const { cluster } = fixture;
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
  await expectCleanEnd(fixture);
});

test('a run timeout and a cancel reach the handler on another node', async () => {
  const fixture = await startTestCluster({ workers: 1 });
  const { cluster } = fixture;
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
  await expectCleanEnd(fixture);
});
