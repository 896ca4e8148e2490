import { expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../testing/harness.ts';
import type { ScriptedNode } from '../../testing/harness/scripted-node.ts';

const MINUTE_MS = 60_000;

/** A world with a node that is in quarantine and another that is not. */
function quarantined(): { world: Harness; bad: ScriptedNode; good: ScriptedNode } {
  const world = new Harness();
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1', 'j2']);
  const good = world.node('good');
  return { world, bad, good };
}

let jobs = 0;

/** One failure on the node for each name; tasks of the same name belong to the same job. */
function failOn(world: Harness, node: ScriptedNode, names: readonly string[]): void {
  jobs += 1;
  for (const name of new Set(names)) {
    const count = names.filter((each) => each === name).length;
    const tasks = echoes(count, { retry: { maxAttempts: 1 } });
    world.submit({ name: `${name}-${jobs}`, tasks });
  }
  for (let left = names.length; left > 0; left -= 1) node.fail(node.poll()[0]!);
}

/** Lets time pass while the nodes go on beating. */
function advance(world: Harness, ms: number, nodes: readonly ScriptedNode[]): void {
  for (let left = ms; left > 0; left -= 10_000) {
    world.advance(Math.min(left, 10_000));
    for (const node of nodes) node.beat();
  }
}

const until = (world: Harness, node: ScriptedNode): number | null | undefined =>
  world.rows.nodes.get(node.id)?.quarantinedUntil;

test('three failures of tasks of two jobs bring a node into quarantine', () => {
  const world = new Harness();
  const node = world.node('w1');
  failOn(world, node, ['j1', 'j2']);
  expect(until(world, node)).toBeNull();
  failOn(world, node, ['j3']);
  expect(until(world, node)).toBe(world.later(10 * MINUTE_MS));
  const entry = world.log().find(({ kind }) => kind === 'node.quarantined');
  expect(entry).toMatchObject({ nodeId: 'w1' });
  expect(JSON.parse(entry?.detail ?? '')).toMatchObject({ failures: 3, jobs: 3 });
});

test('failures of a single job do not, however many', () => {
  const world = new Harness();
  const node = world.node('w1');
  failOn(
    world,
    node,
    Array.from({ length: 50 }, () => 'same'),
  );
  expect(until(world, node)).toBeNull();
  expect(world.state.nodes.get(node.id)?.failures.length).toBeLessThanOrEqual(3);
});

test('failures of the user do not', () => {
  const world = new Harness();
  const node = world.node('w1');
  for (const name of ['j1', 'j2', 'j3', 'j4']) {
    world.submit({ name, tasks: [echo('a')] });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
  }
  expect(until(world, node)).toBeNull();
});

test('failures that are long ago do not', () => {
  const world = new Harness();
  const node = world.node('w1');
  failOn(world, node, ['j1', 'j2']);
  advance(world, 10 * MINUTE_MS + 1, [node]);
  failOn(world, node, ['j3']);
  expect(until(world, node)).toBeNull();
});

test('a node in quarantine gets no work while another can do it', () => {
  const { world, bad, good } = quarantined();
  world.submit({ name: 'job', tasks: echoes(2) });
  expect(bad.poll(5)).toEqual([]);
  expect(good.poll(1)).toHaveLength(1);
  expect(bad.poll(5)).toEqual([]);
});

test('the last node that can do it is never excluded', () => {
  const { world, bad, good } = quarantined();
  world.submit({ name: 'job', tasks: echoes(3) });
  good.leave();
  expect(bad.poll(1)).toHaveLength(1);
  const newcomer = world.node('newcomer');
  expect(bad.poll(1)).toEqual([]);
  world.drain('newcomer');
  expect(bad.poll(1)).toHaveLength(1);
  world.releaseNode('newcomer');
  expect(newcomer.poll(1)).toHaveLength(1);
});

test('nor is it for work that only it can do', () => {
  const world = new Harness();
  const special = world.node('special', { capabilities: { gpu: true } });
  world.node('usual');
  failOn(world, special, ['j1', 'j1', 'j2']);
  expect(until(world, special)).not.toBeNull();
  world.submit({ name: 'usual', tasks: [echo('a')] });
  const gpu = { placement: { capabilities: { gpu: true } } };
  world.submit({ name: 'rare', tasks: [echo('a', gpu)] });
  expect(special.poll(5).map(({ jobId }) => jobId)).toEqual(['rare']);
});

test('quarantine ends by itself, on probation: the next failure brings it back', () => {
  const { world, bad, good } = quarantined();
  advance(world, 10 * MINUTE_MS, [bad, good]);
  expect(until(world, bad)).toBeNull();
  good.leave();
  failOn(world, bad, ['j9']);
  expect(until(world, bad)).not.toBeNull();
});

test('a success ends the probation', () => {
  const { world, bad, good } = quarantined();
  advance(world, 10 * MINUTE_MS, [bad, good]);
  good.leave();
  world.submit({ name: 'job', tasks: [echo('a')] });
  bad.complete(bad.poll()[0]!);
  failOn(world, bad, ['j9']);
  expect(until(world, bad)).toBeNull();
});

test('released by hand the node is as good as new', () => {
  const { world, bad, good } = quarantined();
  world.releaseNode('bad');
  expect(until(world, bad)).toBeNull();
  good.leave();
  failOn(world, bad, ['j9', 'j10']);
  expect(until(world, bad)).toBeNull();
});

test('a restart of the worker does not clear its name, nor does one of the leader', () => {
  const { world, bad } = quarantined();
  world.submit({ name: 'job', tasks: [echo('a')] });
  bad.restartProcess();
  expect(bad.poll()).toEqual([]);
  world.restart();
  expect(bad.poll()).toEqual([]);
  const ends = until(world, bad);
  world.advance(10 * MINUTE_MS);
  expect(ends).not.toBeNull();
  expect(until(world, bad)).toBeNull();
});

test('that quarantine ends while the node is stale changes nothing but its row', () => {
  const { world, bad } = quarantined();
  world.advance(20_000);
  expect(world.rows.nodes.get(bad.id)?.status).toBe('stale');
  world.advance(10 * MINUTE_MS);
  expect(until(world, bad)).toBeNull();
  expect(world.state.matching.groupCount).toBe(0);
});
