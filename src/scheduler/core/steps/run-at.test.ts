import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

const iso = (at: number): string => new Date(at).toISOString();

describe('a job with runAt', () => {
  test('starts at that time and not before, and is queued until then', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', runAt: iso(world.now + 5_000), tasks: echoes(2) });
    expect(node.poll(5)).toEqual([]);
    expect(world.job('job').state).toBe('queued');
    expect(new Set(Object.values(world.states('job')))).toEqual(new Set(['delayed']));
    world.advance(4_999);
    expect(node.poll(5)).toEqual([]);
    world.advance(1);
    expect(node.poll(5)).toHaveLength(2);
    expect(world.job('job').state).toBe('running');
  });

  test('starts at once when the time has passed', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', runAt: iso(world.now - 1), tasks: [echo('a')] });
    expect(node.poll(5)).toHaveLength(1);
  });

  test('keeps its time over a restart of the leader', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', runAt: iso(world.now + 5_000), tasks: [echo('a')] });
    world.restart();
    world.advance(4_000);
    expect(node.poll(5)).toEqual([]);
    world.advance(1_000);
    expect(node.poll(5)).toHaveLength(1);
  });

  test('waits for the task that executes under its key, and takes its result', () => {
    const world = new Harness();
    const node = world.node('w1');
    const task = echo('a', { idempotencyKey: 'k' });
    world.submit({ name: 'first', tasks: [task] });
    const [first] = node.poll(5);
    world.submit({ name: 'later', runAt: iso(world.now + 1_000), tasks: [task] });
    world.advance(1_000);
    expect(world.states('later')).toEqual({ a: 'blocked' });
    node.complete(first!);
    expect(world.job('later').state).toBe('succeeded');
  });

  test('can be cancelled before it starts', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', runAt: iso(world.now + 5_000), tasks: [echo('a')] });
    world.cancel('job');
    expect(world.job('job').state).toBe('cancelled');
    world.advance(6_000);
    expect(node.poll(5)).toEqual([]);
  });

  test('counts queue and total timeouts from then on', () => {
    const world = new Harness();
    const tasks = [echo('a', { timeouts: { queueMs: 1_000 } })];
    world.submit({ name: 'queue', runAt: iso(world.now + 5_000), tasks });
    const total = { totalMs: 2_000 };
    world.submit({
      name: 'total',
      runAt: iso(world.now + 5_000),
      timeouts: total,
      tasks: [echo('a', { timeouts: total })],
    });
    world.advance(5_900);
    expect([world.job('queue').state, world.job('total').state]).toEqual(['queued', 'queued']);
    world.advance(100);
    expect([world.job('queue').state, world.job('total').state]).toEqual(['failed', 'queued']);
    world.restart();
    world.advance(999);
    expect(world.job('total').state).toBe('queued');
    world.advance(1);
    expect(world.job('total').state).toBe('failed');
  });
});
