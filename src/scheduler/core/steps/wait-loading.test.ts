/** What a new leader that loads jobs in portions does with those that wait for each other. */
import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode, Waiting } from '../../../../test/rig/harness/scripted-node.ts';
import type { JobId } from '../index.ts';

const child = { tasks: [echo('x')] };

/** A world in which task `a` of `job` waits. */
function waiting(what: Waiting, more: object = {}): { world: Harness; node: ScriptedNode } {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a', more)] });
  expect(node.wait(node.poll(1)[0]!, what)).toBe('ok');
  return { world, node };
}

/** Loads these jobs, each in a portion of its own, and lets `between` happen meanwhile. */
function restored(world: Harness, ids: readonly string[], between: () => void = () => {}): void {
  const images = ids.map((id) => [world.rows.image(world.rows.jobsById.get(id as JobId)!)]);
  world.restartWith(images, between);
  world.tick();
}

test('wakes a caller whose job ended before the caller was read', () => {
  const { world, node } = waiting({ jobs: { c: child } });
  const [x] = node.poll();
  restored(world, ['job.c', 'job'], () => {
    expect(node.complete(x!)).toBe('ok');
    expect(world.job('job.c').state).toBe('succeeded');
  });
  // Without a step: it asks again, and gets what the store knows.
  expect(world.steps('job', 'a')).toEqual({});
  const [a] = node.poll();
  expect(a).toMatchObject({ taskId: 'a', resumed: true });
  node.wait(a!, { jobs: { c: child } });
  expect(world.steps('job', 'a')).toEqual({
    '$job/c': { jobId: 'job.c', state: 'succeeded', at: world.now },
  });
  expect(world.states('job')).toEqual({ a: 'ready' });
});

test('wakes it also when the leader before has not lived to do so', () => {
  const { world, node } = waiting({ jobs: { c: child } });
  const [x] = node.poll();
  world.restartWith([[], [world.rows.image(world.rows.jobsById.get('job.c' as JobId)!)]]);
  node.complete(x!);
  world.restart();
  world.tick();
  expect(node.poll()[0]).toMatchObject({ taskId: 'a', resumed: true });
});

test('lets a caller wait for a job that is read after it', () => {
  const { world, node } = waiting({ jobs: { c: child } });
  restored(world, ['job', 'job.c']);
  expect(world.states('job')).toEqual({ a: 'blocked' });
  node.complete(node.poll()[0]!);
  expect(world.steps('job', 'a')).toEqual({
    '$job/c': { jobId: 'job.c', state: 'succeeded', at: world.now },
  });
  expect(world.states('job')).toEqual({ a: 'ready' });
});

test('lets a cancel wait for what the job has called: the next leader would not end it', () => {
  const { world } = waiting({ jobs: { c: child } });
  const event = { type: 'cancel', jobId: 'job' as JobId, reason: 'enough' } as const;
  restored(world, ['job', 'job.c'], () => expect(world.ask(event).type).toBe('refused'));
  expect(world.ask(event)).toMatchObject({ type: 'job', changed: true });
  expect(world.job('job.c').state).toBe('cancelled');
});

test('stops a job whose caller has timed out before it was read', () => {
  const { world } = waiting({ jobs: { c: child } }, { timeouts: { totalMs: 60_000 } });
  restored(world, ['job', 'job.c'], () => {
    world.advance(60_000);
    expect(world.job('job').state).toBe('failed');
  });
  expect(world.job('job.c').state).toBe('cancelled');
});

test('does not submit a called job again that is still to be read', () => {
  const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
  world.signal('job', 'go');
  const [a] = node.poll(9).filter(({ taskId }) => taskId === 'a');
  restored(world, ['job', 'job.c'], () => {
    const asked = node.waiting(a!, { jobs: { c: child } });
    if (asked.type !== 'wait') throw new Error('it waits');
    node.suspend(a!, { ...asked, jobs: asked.jobs.map((each) => ({ ...each, ended: null })) });
  });
  expect(world.jobIds()).toEqual(['job', 'job.c']);
  expect(world.states('job')).toEqual({ a: 'blocked' });
});
