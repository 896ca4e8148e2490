import { expect, test } from 'vitest';
import { checkedSettings, instant } from '../core/index.ts';
import type { JobId, NodeId, SessionId, TermId } from '../core/index.ts';
import { openMemoryStore } from '../store/index.ts';
import { systemClock } from '../../kit/index.ts';
import { ownHandshake } from '../contract/index.ts';
import { cronCalendar, LeaderElection } from './index.ts';
import { deferred } from '../../kit/index.ts';
import type { Leader } from './index.ts';

test('a job is submitted, polled, run and committed', async () => {
  const store = openMemoryStore({ now: () => instant(Math.floor(1e12 + performance.now())) });
  const led = deferred<Leader>();
  const election = new LeaderElection({
    store,
    clock: systemClock,
    settings: checkedSettings(),
    calendar: cronCalendar,
    shard: 0,
    nodeId: 'l1',
    url: null,
    grpc: null,
    newTermId: () => 'term-1' as TermId,
    random: () => 0.5,
    onLead: led.resolve,
  });
  election.start();
  const leader = await led.promise;
  const session = { nodeId: 'w1' as NodeId, sessionId: 's1' as SessionId };
  const offer = {
    id: session.nodeId,
    sessionId: session.sessionId,
    slots: 2,
    prefetch: 0,
    executors: ['echo'],
    capabilities: {},
    address: null,
    version: '0',
  };
  await leader.workers.register(offer, ownHandshake());
  const polled = leader.workers.poll({ ...session, pollNo: 1, capacity: 2, held: [] });
  const reply = await leader.jobs.submit(
    {
      tasks: [
        { id: 'a', executor: 'echo', input: { x: 1 } },
        { id: 'b', executor: 'echo', dependsOn: ['a'], input: { $from: 'a', path: '/x' } },
      ],
    },
    { jobId: 'j1' as JobId },
  );
  expect(reply.state).toBe('queued');
  const { assignments } = await polled;
  expect(assignments.map((each) => each.input)).toEqual(['{"x":1}']);
  await leader.workers.report(session, [
    { kind: 'completed', lease: assignments[0]!.lease, result: '{"x":7}' },
  ]);
  const second = await leader.workers.poll({ ...session, pollNo: 2, capacity: 2, held: [] });
  expect(second.assignments.map((each) => each.input)).toEqual(['7']);
  await leader.workers.report(session, [
    { kind: 'completed', lease: second.assignments[0]!.lease, result: null },
  ]);
  expect((await store.job(0, 'j1' as JobId))?.job.state).toBe('succeeded');
  await election.stop();
});
