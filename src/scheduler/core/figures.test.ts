import { expect, test } from 'vitest';
import { Harness, echo } from '../../../test/rig/harness.ts';
import { figures } from './figures.ts';

test('figures tell what waits, what runs, and what no node could ever run', () => {
  const world = new Harness();
  const placement = { capabilities: { gpu: 'nvidia' } };
  world.submit({ name: 'fits', tasks: [echo('a'), echo('b')] });
  world.submit({ name: 'fits-nobody', tasks: [echo('c', { placement })] });
  world.node('w1').poll(1);
  world.advance(5_000);
  expect(figures(world.state, world.now)).toEqual({
    liveJobs: 2,
    readyTasks: 2,
    runningTasks: 1,
    runningQueries: 0,
    waitingQueries: 0,
    unfitTasks: 1,
    unfitMs: 5_000,
  });
});

test('a task that waits for a busy or draining node fits all the same', () => {
  const world = new Harness();
  world.node('w1');
  world.drain('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 0, unfitMs: null });
});
