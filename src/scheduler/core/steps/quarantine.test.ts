import { expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

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

test('a node in quarantine gets no task that another node can run', () => {
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

test('a node in quarantine gets tasks that only it can run', () => {
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

test('a manual release clears the history of the node', () => {
  const { world, bad, good } = quarantined();
  world.releaseNode('bad');
  expect(until(world, bad)).toBeNull();
  good.leave();
  failOn(world, bad, ['j9', 'j10']);
  expect(until(world, bad)).toBeNull();
});

test('a quarantine survives restarts of the worker and of the leader', () => {
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

/** So many jobs of one task fail once on the node, all at the same time. */
function failOnce(world: Harness, node: ScriptedNode, count: number): void {
  for (let at = 0; at < count; at += 1) world.submit({ name: `once-${at}`, tasks: [echo('a')] });
  for (const task of node.poll(count)) node.fail(task);
}

test('failures of tasks that then succeed are not the node’s', () => {
  const world = new Harness();
  const [flaky, other] = [world.node('w1'), world.node('w2')];
  failOnce(world, flaky, 3);
  world.advance(1_000);
  for (const task of other.poll(3)) other.complete(task);
  expect(world.job('once-2').state).toBe('succeeded');
  expect(until(world, flaky)).toBeNull();
});

test('failures of tasks that then succeed on the same node are not the node’s', () => {
  const world = new Harness();
  const node = world.node('w1');
  failOnce(world, node, 3);
  world.advance(1_000);
  for (const task of node.poll(3)) node.complete(task);
  expect(until(world, node)).toBeNull();
});

test('failures of tasks that fail on several nodes are not the node’s', () => {
  const world = new Harness();
  const [w1, w2] = [world.node('w1'), world.node('w2')];
  failOnce(world, w1, 3);
  world.advance(1_000);
  for (const task of w2.poll(3)) w2.fail(task);
  expect(until(world, w1)).toBeNull();
  expect(until(world, w2)).toBeNull();
});

test('a node on which nothing succeeds is quarantined, although its tasks succeed elsewhere', () => {
  const world = new Harness();
  const [bad, good] = [world.node('bad'), world.node('good')];
  for (let round = 0; round < 4; round += 1) {
    for (const at of [1, 2]) world.submit({ name: `r${round}-${at}`, tasks: [echo('a')] });
    for (const task of bad.poll(2)) bad.fail(task);
    world.advance(1_000);
    for (const task of good.poll(2)) good.complete(task);
  }
  expect(until(world, bad)).not.toBeNull();
});

test('a task is tried again on another node, if that has room', () => {
  const world = new Harness();
  const [w1, w2] = [world.node('w1'), world.node('w2')];
  world.submit({ name: 'job', tasks: [echo('a')] });
  w1.fail(w1.poll()[0]!);
  w1.park(1);
  world.advance(1_000);
  expect(w1.isParked).toBe(true);
  expect(w2.poll()).toHaveLength(1);
});

test('a task is tried again on the same node when no other has room', () => {
  const world = new Harness();
  const [w1, w2] = [world.node('w1'), world.node('w2', { slots: 1 })];
  world.submit({ name: 'long', tasks: [echo('a')] });
  expect(w2.poll()).toHaveLength(1);
  world.submit({ name: 'job', tasks: [echo('a')] });
  w1.fail(w1.poll()[0]!);
  world.advance(1_000);
  expect(w1.poll()).toHaveLength(1);
});

test('a node in quarantine takes one task when all others are full, and a success releases it', () => {
  const world = new Harness();
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1', 'j2']);
  const good = world.node('good', { slots: 2 });
  world.submit({ name: 'job', tasks: echoes(6) });
  bad.park(5);
  expect(good.poll(2)).toHaveLength(2);
  const taken = bad.take();
  expect(taken).toHaveLength(1);
  expect(bad.poll(5)).toEqual([]);
  bad.complete(taken[0]!);
  expect(until(world, bad)).toBeNull();
  expect(bad.poll(5)).toHaveLength(3);
});

test('a node in quarantine that fails again is not tried again for a while', () => {
  const world = new Harness();
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1', 'j2']);
  const good = world.node('good', { slots: 1 });
  world.submit({ name: 'job', tasks: echoes(6) });
  expect(good.poll(1)).toHaveLength(1);
  bad.fail(bad.poll(1)[0]!);
  expect(bad.poll(1)).toEqual([]);
  advance(world, MINUTE_MS, [bad, good]);
  expect(bad.poll(1)).toHaveLength(1);
});

test('explain names a node that is in quarantine beside those that are busy', () => {
  const world = new Harness();
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1', 'j2']);
  const good = world.node('good', { slots: 1 });
  world.submit({ name: 'job', tasks: echoes(3) });
  expect(good.poll(1)).toHaveLength(1);
  expect(world.explain('job', 't2')).toMatchObject({ code: 'no_node_free' });
  expect(world.explain('job', 't2')?.why).toContain('bad is in quarantine');
});

test('with one job as the threshold, a node that fails one job is in quarantine', () => {
  const world = new Harness({ settings: { quarantineJobs: 1 } });
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1']);
  expect(until(world, bad)).toBeNull();
  failOn(world, bad, ['j1']);
  expect(until(world, bad)).toBeGreaterThan(0);
});

test('by default one job alone brings no node into quarantine', () => {
  const world = new Harness();
  const bad = world.node('bad');
  failOn(world, bad, ['j1', 'j1', 'j1', 'j1']);
  expect(until(world, bad)).toBeNull();
});
