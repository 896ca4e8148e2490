import { expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../test/rig/harness.ts';
import { auditState } from './index.ts';
import type { SchedulerState } from './index.ts';

/** One job with a task in each of the states that count: running, ready and blocked. */
function busy(): SchedulerState {
  const world = new Harness();
  const limited = { concurrency: { key: 'k', limit: 1 } };
  world.submit({
    name: 'job',
    idempotencyKey: 'once',
    tasks: [...echoes(2), echo('limited', limited), echo('last', { dependsOn: ['limited'] })],
  });
  world.node('w1').poll(4);
  return world.state;
}

const theJob = (state: SchedulerState) => [...state.jobs.values()][0]!;
const theNode = (state: SchedulerState) => [...state.nodes.values()][0]!;
const theLease = (state: SchedulerState) => [...state.leases.values()][0]!;

test('a state that steps have produced passes the audit', () => {
  expect(() => auditState(busy())).not.toThrow();
});

test.each<[string, (state: SchedulerState) => void, string]>([
  ['a count of open tasks', (state) => (theJob(state).open += 1), 'open tasks'],
  ['a count of leases', (state) => (theJob(state).assigned -= 1), 'leases'],
  ['a count of queued tasks', (state) => (theJob(state).queued += 1), 'queued'],
  ['a lease that is gone', (state) => state.leases.delete(theLease(state).slot), 'leases'],
  [
    'a node that lost a lease',
    (state) => theNode(state).leases.delete(theLease(state)),
    'its node has it',
  ],
  [
    'a job that is not known by its id',
    (state) => state.jobs.remove(0 as never, theJob(state).id),
    'known by its id',
  ],
  [
    'a key that leads to no job',
    (state) => state.jobsByKey.set('other', theJob(state)),
    'by idempotency key',
  ],
  ['a fence that went on', (state) => state.tasks.fence.set(theLease(state).slot, 9), 'its fence'],
  [
    'a fence that was never given',
    (state) => state.tasks.acceptedFence.set(theLease(state).slot, 9),
    'accepted',
  ],
  ['fragments that nobody holds', (state) => (theNode(state).bulkHeld = 1), 'fragments'],
  [
    'a queued task that does not wait',
    (state) => state.tasks.restoreState(theLease(state).slot, 'ready'),
    'job',
  ],
])('finds %s', (_name, spoil, what) => {
  const state = busy();
  spoil(state);
  expect(() => auditState(state)).toThrow(what);
});
