import { beforeEach, expect, test } from 'vitest';
import { Gate, calm, rig } from '../../../test/rig/worker-rig.ts';
import type { Rig } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, assignment, lease } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';

let leader: FakeLeader;
let deaf: Gate;

beforeEach(() => {
  leader = new FakeLeader();
  deaf = new Gate('deaf', false);
});

async function busy(): Promise<Rig> {
  const made = rig({
    leader,
    tasks: [deaf],
    slots: 1,
    prefetch: 1,
    stuck: 'abandon',
    settings: { abortGraceMs: 5_000, drainMs: 1_000 },
  });
  await made.worker.start();
  leader.give(assignment(1, 'deaf'), assignment(2, 'echo', { input: '2' }));
  await calm();
  expect(leader.reported).toEqual(['started 1']);
  return made;
}

test('a handler that does not stop is abandoned, and its slot is free for the next task', async () => {
  const { clock, stuck, lines } = await busy();
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  leader.answer(true);
  // A full worker has a poll parked for orders.
  await clock.advance(100);
  await calm();
  leader.orders = { abort: [], drain: false, slowDownMs: 0 };
  expect(deaf.signals[0]!.aborted).toBe(true);
  await clock.advance(4_999);
  expect(leader.reported).toEqual(['started 1']);
  await clock.advance(1);
  await calm();
  expect(leader.reported).toEqual(['started 1', 'aborted 1', 'completed 2']);
  expect(stuck).toEqual([]);
  expect(lines.join()).toContain('Its slot is used for other tasks');
  // Whatever it says later is heard by nobody.
  deaf.calls[0]!.end.resolve('late');
  await calm();
  expect(leader.reported).toEqual(['started 1', 'aborted 1', 'completed 2']);
});

test('a drain returns tasks that do not stop, and leaves', async () => {
  const { worker, clock } = await busy();
  const stopped = worker.stop();
  await clock.advance(1_000);
  await clock.advance(5_000);
  await stopped;
  expect(leader.reported).toEqual(['started 1', 'released 2', 'released 1']);
  expect(leader.left).toHaveLength(1);
});

test('an ended session does not wait forever for a handler that does not stop', async () => {
  const { clock } = await busy();
  leader.onHeartbeat = () =>
    Promise.reject(new MillraceError({ code: 'superseded', what: 'gone.' }));
  await clock.advance(3_000);
  leader.onHeartbeat = () => Promise.resolve(leader.orders);
  expect(leader.registered).toHaveLength(1);
  await clock.advance(6_000);
  expect(leader.registered.map(({ sessionId }) => sessionId)).toEqual(['s1', 's2']);
  expect(leader.reported).toEqual(['started 1']);
});
