import { beforeEach, expect, test } from 'vitest';
import { Gate, calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig, RigOptions } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';

let leader: FakeLeader;
let gate: Gate;

beforeEach(() => {
  leader = new FakeLeader();
  gate = new Gate('gate');
});

/** One task runs, one is prefetched. */
async function busy(options: Partial<RigOptions> = {}): Promise<Rig> {
  const made = rig({ leader, tasks: [gate], slots: 1, prefetch: 2, ...options });
  await made.worker.start();
  leader.give(assignment(1, 'gate'), assignment(2, 'gate'));
  await calm();
  expect(leader.reported).toEqual(['started 1']);
  return made;
}

function unreachable(): Promise<never> {
  return Promise.reject(new MillraceError({ code: 'unreachable', what: 'gone.' }));
}

test('a drain returns tasks that have not started, finishes and reports the rest, and leaves', async () => {
  const { worker, clock } = await busy();
  const stopped = worker.stop();
  await clock.advance(1_000);
  expect(leader.reported).toEqual(['started 1', 'released 2']);
  expect(leader.isParked).toBe(false);
  expect(leader.left).toEqual([]);
  gate.calls[0]!.end.resolve('done');
  await stopped;
  expect(leader.reported).toEqual(['started 1', 'released 2', 'completed 1']);
  expect(leader.left).toEqual([{ nodeId: 'w', sessionId: 's1' }]);
  const polls = leader.polls.length;
  const beats = leader.beats.length;
  await clock.advance(60_000);
  expect([leader.polls.length, leader.beats.length]).toEqual([polls, beats]);
});

test('after its deadline a drain aborts running tasks and returns them', async () => {
  const { worker, clock } = await busy();
  const stopped = worker.stop();
  await clock.advance(29_999);
  expect(gate.signals[0]!.aborted).toBe(false);
  await clock.advance(2);
  await stopped;
  expect(gate.signals[0]!.reason).toMatchObject({ code: 'shutting_down' });
  expect(leader.reported).toEqual(['started 1', 'released 2', 'released 1']);
  expect(leader.left).toHaveLength(1);
});

test('the leader can order a drain, and the worker ends after it', async () => {
  const { worker, clock } = await busy();
  leader.orders = { abort: [], drain: true, slowDownMs: 0 };
  await clock.advance(3_000);
  gate.calls[0]!.end.resolve(null);
  await clock.advance(100);
  await worker.ended;
  expect(leader.left).toHaveLength(1);
  await worker.stop();
});

test('tasks that a poll brings during a drain are returned at once', async () => {
  const { worker, clock } = await busy();
  // Not called back in time: the answer was on its way.
  const parked = leader.polls.at(-1)!;
  expect(parked.capacity).toBe(1);
  leader.give(assignment(3, 'gate'));
  const stopped = worker.stop();
  await clock.advance(1);
  gate.calls[0]!.end.resolve(null);
  await stopped;
  expect(leader.reported.toSorted()).toEqual([
    'completed 1',
    'released 2',
    'released 3',
    'started 1',
  ]);
  expect(gate.calls).toHaveLength(1);
});

test('tasks of a lost poll answer are requested once more, and returned', async () => {
  const { worker, clock } = await busy();
  leader.losesAnswers = true;
  leader.give(assignment(3, 'gate'));
  const stopped = worker.stop();
  await clock.advance(1);
  expect(leader.reported).toEqual(['started 1', 'released 2', 'released 3']);
  expect(leader.polls.at(-1)).toMatchObject({ capacity: 0, refills: false, waits: false });
  const polls = leader.polls.length;
  await clock.advance(10_000);
  expect(leader.polls).toHaveLength(polls);
  gate.calls[0]!.end.resolve(null);
  await stopped;
  expect(gate.calls).toHaveLength(1);
});

test('an immediate stop aborts running tasks, returns them and leaves', async () => {
  const { worker, clock } = await busy();
  const stopped = worker.stopNow();
  await clock.advance(10);
  await stopped;
  expect(gate.signals[0]!.aborted).toBe(true);
  expect(leader.reported).toEqual(['started 1', 'released 2', 'released 1']);
  expect(leader.left).toHaveLength(1);
});

test('a draining worker repeats a result until the leader has it', async () => {
  const { worker, clock } = await busy();
  leader.onReport = unreachable;
  const stopped = worker.stop();
  gate.calls[0]!.end.resolve('kept');
  await clock.advance(4_000);
  expect(leader.left).toEqual([]);
  leader.onReport = () => Promise.resolve();
  await clock.advance(6_000);
  await stopped;
  expect(leader.items.at(-1)).toEqual({ kind: 'completed', lease: lease(1), result: '"kept"' });
});

test('a drain without a leader ends with the session, when other workers get its tasks', async () => {
  const { worker, clock } = await busy();
  leader.onReport = unreachable;
  leader.onHeartbeat = unreachable;
  const stopped = worker.stop();
  await clock.advance(20_000);
  await stopped;
  expect(gate.signals[0]!.aborted).toBe(true);
  expect(leader.registered).toHaveLength(1);
});

test('an unanswered leave call is not repeated forever', async () => {
  const { worker, clock } = rig({ leader });
  await worker.start();
  leader.onLeave = unreachable;
  const stopped = worker.stop();
  await clock.advance(3_000);
  await stopped;
  expect(leader.left.length).toBeGreaterThan(3);

  leader = new FakeLeader();
  const second = rig({ leader });
  await second.worker.start();
  leader.onLeave = () => new Promise(() => {});
  const stoppedToo = second.worker.stop();
  await second.clock.advance(3_000);
  await stoppedToo;
});

test('a drain waits for readers of the worker’s outputs before it leaves', async () => {
  const read = deferred();
  const asked: string[] = [];
  const { worker, clock } = await busy({
    beforeLeave: ({ sessionId }) => {
      asked.push(sessionId);
      return read.promise;
    },
  });
  const stopped = worker.stop();
  await clock.advance(1_000);
  expect(asked).toEqual([]);
  gate.calls[0]!.end.resolve('done');
  await clock.advance(10_000);
  expect([asked, leader.left]).toEqual([['s1'], []]);
  expect(leader.beats.length).toBeGreaterThan(2);
  read.resolve();
  await stopped;
  expect(leader.left).toHaveLength(1);
});

test('the drain deadline also limits the wait for readers', async () => {
  const { worker, clock } = await busy({
    beforeLeave: (_session, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
      }),
  });
  const stopped = worker.stop();
  gate.calls[0]!.end.resolve('done');
  await clock.advance(29_999);
  expect(leader.left).toEqual([]);
  await clock.advance(2);
  await stopped;
  expect(leader.left).toHaveLength(1);
});
