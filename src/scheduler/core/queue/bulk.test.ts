import { describe, expect, test } from 'vitest';
import { Harness, echoes } from '../../../../test/rig/harness.ts';
import type { NodeOptions, ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

/** A node that runs `slots` tasks at a time and may hold many more. */
function node(world: Harness, id: string, slots: number, more: NodeOptions = {}): ScriptedNode {
  return world.node(id, { executors: ['echo', 'sql.fragment'], slots, prefetch: 500, ...more });
}

function submitQuery(world: Harness, count: number): void {
  world.submit({ name: 'query', tasks: echoes(count) }, { isQuery: true });
}

const kinds = (node: ScriptedNode): string =>
  [...node.held.values()].map(({ executor }) => (executor === 'echo' ? 't' : 'f')).join('');

describe('fragments of queries', () => {
  test('leave one slot free on every node that has more than one', () => {
    const world = new Harness();
    submitQuery(world, 50);
    const w1 = node(world, 'w1', 4);
    expect(w1.poll(50)).toHaveLength(3);
    const w2 = node(world, 'w2', 1);
    expect(w2.poll(50)).toHaveLength(1);
    world.submit({ name: 'short', tasks: echoes(1) });
    expect(w1.poll(1).map(({ executor }) => executor)).toEqual(['echo']);
  });

  test('are not held in advance: what waits for a slot is short', () => {
    const world = new Harness();
    world.submit({ name: 'short', tasks: echoes(20) });
    const w1 = node(world, 'w1', 4);
    expect(w1.poll(10)).toHaveLength(10);
    submitQuery(world, 50);
    expect(w1.poll(10).map(({ executor }) => executor)).not.toContain('sql.fragment');
  });

  test('share the slots with tasks that wait, half and half', () => {
    const world = new Harness();
    submitQuery(world, 50);
    world.submit({ name: 'short', tasks: echoes(50) });
    const w1 = node(world, 'w1', 8);
    // One after the other, as slots become free; short tasks end, fragments do not.
    for (let at = 0; at < 30; at += 1) {
      w1.poll(1);
      for (const each of [...w1.held.values()]) if (each.executor === 'echo') w1.complete(each);
    }
    expect(kinds(w1)).toBe('ffff');
  });

  test('take all slots but one while nothing else waits', () => {
    const world = new Harness();
    submitQuery(world, 50);
    const w1 = node(world, 'w1', 8);
    expect(w1.poll(50)).toHaveLength(7);
  });

  test('a parked poll that no fragment may fill waits for a task, and takes it at once', () => {
    const world = new Harness();
    submitQuery(world, 50);
    const w1 = node(world, 'w1', 2);
    w1.poll(50);
    w1.park(50);
    world.assign();
    expect(w1.isParked).toBe(true);
    world.submit({ name: 'short', tasks: echoes(1) });
    world.assign();
    expect(w1.take().map(({ executor }) => executor)).toEqual(['echo']);
  });

  test('go on when one of them has ended', () => {
    const world = new Harness();
    submitQuery(world, 50);
    const w1 = node(world, 'w1', 3);
    const [first] = w1.poll(50);
    w1.park(50);
    world.assign();
    w1.complete(first!);
    world.assign();
    expect(w1.take()).toHaveLength(1);
  });

  test('keep their places over a restart of the leader', () => {
    const world = new Harness();
    submitQuery(world, 50);
    const w1 = node(world, 'w1', 4);
    w1.poll(50);
    world.restart();
    expect(w1.poll(50)).toHaveLength(0);
  });
});

describe('a node that is short of room', () => {
  const full = { capabilities: { pressure: 'disk' } };

  test('is given no fragments while others have room, but tasks', () => {
    const world = new Harness();
    const w1 = node(world, 'w1', 4, full);
    const w2 = node(world, 'w2', 4);
    submitQuery(world, 10);
    world.submit({ name: 'short', tasks: echoes(1) });
    expect(w1.poll(10).map(({ executor }) => executor)).toEqual(['echo']);
    expect(w2.poll(10)).toHaveLength(3);
    expect(world.explain('query', 't9')).toMatchObject({ code: 'no_node_free' });
    expect(world.explain('query', 't9')?.why).toContain('w1 is short of disk');
  });

  test('is given them again when it has room', () => {
    const world = new Harness();
    const w1 = node(world, 'w1', 4, full);
    node(world, 'w2', 4);
    submitQuery(world, 10);
    expect(w1.poll(10)).toEqual([]);
    w1.register({ capabilities: {} });
    expect(w1.poll(10)).toHaveLength(3);
  });

  test('is given them when all are: then the query fails and says why', () => {
    const world = new Harness();
    const w1 = node(world, 'w1', 4, full);
    submitQuery(world, 1);
    expect(w1.poll(10)).toHaveLength(1);
  });

  test('is still so for a new leader', () => {
    const world = new Harness();
    const w1 = node(world, 'w1', 4, full);
    node(world, 'w2', 4);
    submitQuery(world, 10);
    world.restart();
    expect(w1.poll(10)).toEqual([]);
  });
});
