import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { SuspendUntil } from '../event.ts';

const waiting = (...keys: readonly number[]): SuspendUntil => ({
  type: 'wait',
  sleeps: [],
  signals: keys.map((key) => ({
    step: `$event/${key}`,
    name: 'event/paid',
    match: [['order.key', key] as const],
  })),
  jobs: [],
});

function raise(world: Harness, key: number, id: string): unknown {
  const raised = { name: 'paid', id, data: JSON.stringify({ order: { key } }) };
  return world.ask({ type: 'raise', raised });
}

const woken = (...jobs: readonly string[]): object => ({
  type: 'raised',
  woken: jobs.map((job) => ({ job, task: 'a' })),
  cancelled: [],
  full: [],
  isMore: false,
});

test('waits for events and what they have taken survive the leader', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'one', tasks: [echo('a')] }, { id: 'one' });
  node.suspend(node.poll(1)[0]!, waiting(1, 2));
  world.restart();
  expect(raise(world, 3, 'e0')).toEqual(woken());
  expect(raise(world, 1, 'e1')).toEqual(woken('one'));
  expect(world.task('one', 'a').state).toBe('ready');
  // While it is awake, and by the next leader.
  world.restart();
  expect(raise(world, 2, 'e2')).toEqual(woken('one'));
  expect(raise(world, 2, 'e3')).toEqual(woken());
  world.restart();
  const [again] = node.poll(1);
  // The attempt was assigned before it could know of the second one.
  node.suspend(again!, waiting(2));
  expect(world.task('one', 'a').state).toBe('ready');
  world.check();
});

test('an event is refused while jobs are still loaded, and wakes more than one step takes in several', () => {
  const world = new Harness({ settings: { slotsPerNode: 2_000 }, checks: false });
  const node = world.node('w1', { slots: 1_200 });
  for (let at = 0; at < 1_100; at += 1)
    world.submit({ name: `j${at}`, tasks: [echo('a')] }, { id: `j${at}` });
  for (const task of node.poll(1_200)) node.suspend(task, waiting(1));
  world.state.isComplete = false;
  expect(raise(world, 1, 'e')).toMatchObject({ type: 'refused', error: { code: 'loading' } });
  world.state.isComplete = true;
  const first = raise(world, 1, 'e') as { readonly woken: readonly unknown[] };
  expect(first).toMatchObject({ isMore: true });
  expect(first.woken).toHaveLength(1_000);
  expect((raise(world, 1, 'e') as typeof first).woken).toHaveLength(100);
  expect((raise(world, 1, 'e') as typeof first).woken).toHaveLength(0);
});

test('an event that comes in the very moment in which the task goes on counts as later', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'one', tasks: [echo('a')] }, { id: 'one' });
  node.suspend(node.poll(1)[0]!, waiting(1, 2));
  raise(world, 2, 'e2');
  const [again] = node.poll(1);
  raise(world, 1, 'e1');
  const steps = world.steps('one', 'a') as Record<string, { at: number }>;
  expect(steps['$at/event/2']?.at).toBe(again?.assignedAt);
  expect(steps['$at/event/1']?.at).toBeGreaterThan(again!.assignedAt);
});
