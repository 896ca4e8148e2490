import { expect, test } from 'vitest';
import { Harness, echo } from '../../../test/rig/harness.ts';
import { figures } from './figures.ts';

const none = {
  blocked: 0,
  ready: 0,
  delayed: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
};

test('metrics count waiting and running tasks, and those that no node can run', () => {
  const world = new Harness();
  const placement = { capabilities: { gpu: 'nvidia' } };
  world.submit({ name: 'fits', tasks: [echo('a'), echo('b')] });
  world.submit({ name: 'fits-nobody', tasks: [echo('c', { placement })] });
  world.node('w1').poll(1);
  world.advance(5_000);
  expect(figures(world.state, world.now)).toEqual({
    jobs: { queued: 1, running: 1 },
    tasks: { ...none, ready: 2, running: 1 },
    oldestReadyMs: 5_000,
    runningQueries: 0,
    waitingQueries: 0,
    unfitTasks: 1,
    unfitMs: 5_000,
  });
});

test.each([0, 1, Infinity])(
  'the oldest unfit task is known after those before it were cancelled, with %d unpacked jobs',
  (unpackedJobs) => {
    const world = new Harness({ unpackedJobs });
    const tasks = [echo('a', { placement: { capabilities: { gpu: 'nvidia' } } })];
    const shared = { fairnessKey: 'tenant', tasks };
    for (const name of ['first', 'second', 'third']) {
      world.submit({ name, tasks });
      world.submit({ name: `${name}-shared`, ...shared });
      world.advance(1_000);
    }
    const cancel = (name: string): void => {
      world.cancel(name);
      world.cancel(`${name}-shared`);
    };
    expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 6, unfitMs: 3_000 });
    cancel('first');
    expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 4, unfitMs: 2_000 });
    cancel('second');
    expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 2, unfitMs: 1_000 });
    cancel('third');
    expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 0, unfitMs: null });
  },
);

test('a task that waits for a busy or draining node does not count as unfit', () => {
  const world = new Harness();
  world.node('w1');
  world.drain('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(figures(world.state, world.now)).toMatchObject({ unfitTasks: 0, unfitMs: null });
});

test('figures count every state of the tasks of live jobs, and nothing of jobs that have ended', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] });
  world.submit({ name: 'gone', tasks: [echo('c')] });
  const node = world.node('w1');
  node.poll(1);
  expect(figures(world.state, world.now).tasks).toEqual({
    ...none,
    blocked: 1,
    ready: 1,
    running: 1,
  });
  world.cancel('gone');
  expect(figures(world.state, world.now)).toMatchObject({
    jobs: { queued: 0, running: 1 },
    tasks: { ...none, blocked: 1, running: 1 },
    oldestReadyMs: null,
  });
});
