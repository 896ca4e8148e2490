/** Nobody may wait for a task that waits for an execution key which he holds himself. */
import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

const keyed = (id: string): object => echo(id, { idempotencyKey: 'k' });

test('a child cannot call a job that needs the key of its parent', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [keyed('a')] });
  node.spawn(node.poll()[0]!, [echo('a.1')]);
  node.wait(node.poll()[0]!, { jobs: { c: { tasks: [keyed('x')] } } });
  expect(world.task('job', 'a.1').error).toEqual({
    code: 'bad_wait',
    message: 'task x of job.c would wait for a key that its caller holds',
  });
  expect(world.states('job')).toEqual({ a: 'ready', 'a.1': 'failed' });
});

test('a task of a called job cannot add one that needs the key of the caller', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [keyed('a')] });
  node.wait(node.poll()[0]!, { jobs: { c: { tasks: [echo('x')] } } });
  node.spawn(node.poll()[0]!, [echo('x.1'), keyed('x.2')]);
  expect(world.task('job.c', 'x').error).toEqual({
    code: 'bad_children',
    message: 'child x.2 would wait for a key that the caller of its job holds',
  });
  expect(world.states('job')).toEqual({ a: 'ready' });
});
