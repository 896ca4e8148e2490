import { expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../test/rig/harness.ts';
import { heldTasks } from './index.ts';

test('the tasks that each node holds are listed, up to a limit, without ended ones', () => {
  const world = new Harness();
  const [first, second] = [world.node('w1', { slots: 3 }), world.node('w2')];
  world.submit({ name: 'many', tasks: echoes(3) });
  const polled = first.poll(3);
  first.start(polled[0]!);
  world.submit({ name: 'one', tasks: [echo('a')] });
  second.poll();
  const found = heldTasks(world.state, 2);
  expect(
    found.map(({ nodeId, jobName, taskId, isStarted }) => [nodeId, jobName, taskId, isStarted]),
  ).toEqual([
    ['w1', 'many', 't0', true],
    ['w1', 'many', 't1', false],
    ['w2', 'one', 'a', false],
  ]);
  first.complete(polled[0]!);
  expect(heldTasks(world.state, 9).filter(({ nodeId }) => nodeId === 'w1')).toHaveLength(2);
});
