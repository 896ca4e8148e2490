import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

describe('a task goes only to nodes that fit', () => {
  test('by executor', () => {
    const world = new Harness();
    const [plain, sql] = [world.node('w1'), world.node('w2', { executors: ['sql'] })];
    world.submit({ name: 'job', tasks: [{ id: 'q', executor: 'sql' }] });
    expect(plain.poll()).toEqual([]);
    expect(sql.poll()).toHaveLength(1);
  });

  test('by all of several executors, and by any of others', () => {
    const world = new Harness();
    const a = world.node('a', { executors: ['echo', 'x'] });
    const b = world.node('b', { executors: ['echo', 'x', 'z'] });
    const placement = { executors: ['x'], executorsAny: ['y', 'z'] };
    world.submit({ name: 'job', tasks: [echo('t', { placement })] });
    expect(a.poll()).toEqual([]);
    expect(b.poll()).toHaveLength(1);
  });

  test('by capability: numbers are minimums, the rest must be equal', () => {
    const world = new Harness();
    const small = world.node('small', { capabilities: { cpu: 4, os: 'linux' } });
    const other = world.node('other', { capabilities: { cpu: 16, os: 'plan9' } });
    const large = world.node('large', { capabilities: { cpu: 16, os: 'linux' } });
    const placement = { capabilities: { cpu: 8, os: 'linux' } };
    world.submit({ name: 'job', tasks: [echo('t', { placement })] });
    expect([small, other, large].map((node) => node.poll().length)).toEqual([0, 0, 1]);
  });

  test('by name: allowed nodes only, and forbidden wins', () => {
    const world = new Harness();
    const nodes = ['a', 'b', 'c'].map((id) => world.node(id));
    const placement = { allowedNodes: ['a', 'b'], forbiddenNodes: ['a'] };
    world.submit({ name: 'job', tasks: echoes(3, { placement }) });
    expect(nodes.map((node) => node.poll().length)).toEqual([0, 1, 0]);
  });

  test('as soon as one comes that does', () => {
    const world = new Harness();
    const poor = world.node('poor');
    const placement = { capabilities: { gpu: true } };
    world.submit({ name: 'job', tasks: [echo('t', { placement })] });
    expect(poor.poll()).toEqual([]);
    const rich = world.node('rich', { capabilities: { gpu: true } });
    expect(rich.poll()).toHaveLength(1);
  });

  test('a partial roll-out works: capable nodes run, the others stay idle', () => {
    const world = new Harness();
    const old = world.node('old', { executors: ['sql'] });
    const fresh = world.node('fresh', { executors: ['sql', 'op'] });
    const custom = { executor: 'sql', placement: { executors: ['op'] } };
    world.submit({ name: 'job', tasks: echoes(3, custom) });
    expect(old.poll(9)).toEqual([]);
    expect(fresh.poll(9)).toHaveLength(3);
  });
});

describe('groups of nodes', () => {
  test('a thousand equal nodes are one group', () => {
    const world = new Harness({ checks: false });
    for (let at = 0; at < 1_000; at += 1) world.node(`w${at}`);
    world.submit({ name: 'job', tasks: echoes(3) });
    expect(world.state.matching.groupCount).toBe(1);
  });

  test('nodes that may serve different work are in different ones, and groups end with them', () => {
    const world = new Harness();
    const nodes = [
      world.node('a'),
      world.node('b', { executors: ['sql'] }),
      world.node('c', { executors: ['echo', 'sql'] }),
    ];
    world.submit({ name: 'job', tasks: [echo('e'), { id: 'q', executor: 'sql' }] });
    expect(world.state.matching.groupCount).toBe(3);
    for (const node of nodes) node.leave();
    expect(world.state.matching.groupCount).toBe(0);
    const late = world.node('late', { executors: ['echo', 'sql'] });
    expect(late.poll(9)).toHaveLength(2);
  });

  test('requirements that no task has any more are forgotten, but not at once', () => {
    const world = new Harness({ checks: false });
    const node = world.node('w1');
    for (let at = 0; at < 1_000; at += 1) {
      const placement = { forbiddenNodes: [`x${at}`] };
      world.submit({ name: `job-${at}`, tasks: [echo('a', { placement })] });
      node.complete(node.poll()[0]!);
    }
    expect(world.state.nodes.get(node.id)?.meets.size).toBeLessThan(300);
    expect(world.state.matching.inUse).toBe(0);
  });

  test('a requirement that was forgotten is there again when it is asked for', () => {
    const world = new Harness({ checks: false });
    const node = world.node('w1');
    const nth = (at: number): object => ({ placement: { forbiddenNodes: [`x${at}`] } });
    for (const at of [...Array(400).keys(), 0, 399, 0]) {
      world.submit({ name: `job-${at}-${world.now}`, tasks: [echo('a', nth(at))] });
      world.advance(1);
      node.complete(node.poll()[0]!);
    }
    world.check();
    expect(world.state.jobs.size).toBe(0);
  });
});

test('a node finds work in a lane that was emptied by cancels before it came', () => {
  const world = new Harness();
  const placement = { capabilities: { gpu: true } };
  for (let at = 0; at < 100; at += 1) {
    world.submit({ name: `job-${at}`, tasks: [echo('a', { placement })] });
  }
  for (let at = 0; at < 100; at += 1) world.cancel(`job-${at}`);
  const node = world.node('w1', { capabilities: { gpu: true } });
  node.park(1);
  world.assign();
  world.submit({ name: 'late', tasks: [echo('a', { placement })] });
  world.assign();
  expect(node.take()).toHaveLength(1);
});

test('two groups never share a name: sets of requirements have different hashes', () => {
  const world = new Harness({ checks: false });
  // Every node may run a different half of twelve executors.
  const names = Array.from({ length: 12 }, (_, at) => `e${at}`);
  world.submit({ name: 'job', tasks: names.map((executor) => ({ id: executor, executor })) });
  const sets = Array.from({ length: 2 ** 12 }, (_, bits) =>
    names.filter((_name, at) => (bits >> at) % 2 === 1),
  );
  for (const [at, executors] of sets.entries()) world.node(`w${at}`, { executors });
  expect(world.state.matching.groupCount).toBe(2 ** 12);
});
