import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment } from '../index.ts';

/** A world in which `node` runs `parent`. */
function parentRunning(more: readonly object[] = []): {
  world: Harness;
  node: ScriptedNode;
  parent: Assignment;
} {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('parent'), ...more] });
  const [parent] = node.poll(1);
  return { world, node, parent: parent! };
}

describe('fan-out', () => {
  test('children run, and their parent goes on when the last one has ended', () => {
    const { world, node, parent } = parentRunning();
    expect(node.spawn(parent, [echo('c1'), echo('c2')])).toBe('ok');
    expect(world.states('job')).toEqual({ parent: 'blocked', c1: 'ready', c2: 'ready' });
    expect(world.job('job').taskCount).toBe(3);
    const [c1, c2] = node.poll(9);
    node.complete(c1!, 1);
    expect(world.states('job')['parent']).toBe('blocked');
    node.complete(c2!, 2);
    const [resumed] = node.poll(9);
    expect(resumed).toMatchObject({ taskId: 'parent', resumed: true, attempt: 1 });
    node.complete(resumed!, 3);
    expect(world.job('job').state).toBe('succeeded');
    expect(world.rows.jobs.get(parent.lease.jobNo)?.tasks[1]?.spec.parentNo).toBe(0);
  });

  test('its parent learns that it has some, from then on and under any leader', () => {
    const { world, node, parent } = parentRunning();
    expect(parent.hasChildren).toBe(false);
    node.spawn(parent, [echo('c1')]);
    const [c1] = node.poll(1);
    expect(c1?.hasChildren).toBe(false);
    node.complete(c1!);
    world.restart();
    expect(node.poll(1)[0]).toMatchObject({ taskId: 'parent', hasChildren: true });
  });

  test('over ten thousand elements', () => {
    const world = new Harness({ checks: false });
    const node = world.node('w1', { slots: 20_000 });
    world.submit({ name: 'job', tasks: [echo('parent')] });
    node.spawn(node.poll(1)[0]!, echoes(10_000));
    for (const child of node.poll(10_000)) node.complete(child);
    expect(node.poll(1)[0]?.taskId).toBe('parent');
    world.check();
  });

  test('a child that fails counts as ended', () => {
    const { node, parent } = parentRunning();
    node.spawn(parent, [echo('c1')]);
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(node.poll(1)[0]).toMatchObject({ taskId: 'parent', resumed: true });
  });

  test('children may have children', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1')]);
    node.spawn(node.poll(1)[0]!, [echo('c2')]);
    node.spawn(node.poll(1)[0]!, [echo('c3')]);
    for (const id of ['c3', 'c2', 'c1', 'parent']) {
      const [task] = node.poll(9);
      expect(task?.taskId).toBe(id);
      node.complete(task!);
    }
    expect(world.job('job').state).toBe('succeeded');
  });

  test('without children the parent goes on at once', () => {
    const { node, parent } = parentRunning();
    node.spawn(parent, []);
    expect(node.poll(1)[0]).toMatchObject({ taskId: 'parent', resumed: true });
  });

  test('a child whose execution key is completed has ended before it began', () => {
    const { world, node, parent } = parentRunning();
    world.submit({ name: 'before', tasks: [echo('a', { idempotencyKey: 'k' })] });
    node.complete(node.poll(1)[0]!, 'known');
    node.spawn(parent, [echo('c1', { idempotencyKey: 'k' }), echo('c2')]);
    expect(world.task('job', 'c1')).toMatchObject({ state: 'succeeded', result: 'known' });
    expect(world.states('job')['parent']).toBe('blocked');
    node.complete(node.poll(1)[0]!);
    expect(world.states('job')['parent']).toBe('ready');
  });

  test('when all children end at once the parent goes on once', () => {
    const { world, node, parent } = parentRunning();
    world.submit({ name: 'before', tasks: [echo('a', { idempotencyKey: 'k' })] });
    node.complete(node.poll(1)[0]!, 'known');
    node.spawn(parent, [echo('c1', { idempotencyKey: 'k' }), echo('c2', { idempotencyKey: 'k' })]);
    expect(node.poll(9).map(({ taskId }) => taskId)).toEqual(['parent']);
    expect(world.states('job')).toEqual({ parent: 'running', c1: 'succeeded', c2: 'succeeded' });
  });
});

describe('a repeated attempt', () => {
  test('finds the children of the last one', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1'), echo('c2')]);
    for (const child of node.poll(9)) node.complete(child, 'done');
    const [resumed] = node.poll(1);
    node.fail(resumed!);
    world.advance(1_000);
    const [again] = node.poll(1);
    expect(again).toMatchObject({ attempt: 2, resumed: false });
    node.spawn(again!, [echo('c1'), echo('c2'), echo('c3')]);
    expect(world.states('job')).toEqual({
      parent: 'blocked',
      c1: 'succeeded',
      c2: 'succeeded',
      c3: 'ready',
    });
    expect(world.task('job', 'c1')).toMatchObject({ run: 1, attempt: 1 });
  });

  test('finds those that have ended, and goes on at once', () => {
    const { node, parent } = parentRunning();
    node.spawn(parent, [echo('c1')]);
    node.complete(node.poll(1)[0]!);
    node.release(node.poll(1)[0]!);
    node.spawn(node.poll(1)[0]!, [echo('c1')]);
    expect(node.poll(9)[0]).toMatchObject({ taskId: 'parent', resumed: true });
  });

  test('that waits again waits for the new children only', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1')]);
    node.complete(node.poll(1)[0]!);
    const [resumed] = node.poll(1);
    node.spawn(resumed!, [echo('c1'), echo('c2'), echo('c3')]);
    const [c2, c3] = node.poll(9);
    node.complete(c2!);
    expect(world.states('job')['parent']).toBe('blocked');
    node.complete(c3!);
    expect(world.states('job')['parent']).toBe('ready');
  });

  test('handles a child that ends in the same report', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1'), echo('c2')]);
    for (const child of node.poll(9)) node.fail(child, { failure: 'fatal' });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    world.rerun('job');
    // Parent and children run side by side now.
    const tasks = new Map(node.poll(9).map((task) => [task.taskId as string, task]));
    const [p, c1, c2] = ['parent', 'c1', 'c2'].map((id) => tasks.get(id)!);
    const until = node.children(p!, [echo('c1'), echo('c2')]);
    node.report([
      { kind: 'completed', lease: c1!.lease, result: null },
      { kind: 'suspended', lease: p!.lease, until },
    ]);
    expect(world.states('job')['parent']).toBe('blocked');
    node.complete(c2!);
    expect(world.states('job')['parent']).toBe('ready');
  });

  test('gives children that failed in an earlier run a new one', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1'), echo('c2')]);
    const [c1, c2] = node.poll(9);
    node.complete(c1!, 'kept');
    node.fail(c2!, { failure: 'fatal' });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(world.job('job').state).toBe('failed');
    world.redrive('job', 'parent');
    node.spawn(node.poll(1)[0]!, [echo('c1'), echo('c2')]);
    expect(world.task('job', 'c1')).toMatchObject({ state: 'succeeded', run: 1, result: 'kept' });
    expect(world.task('job', 'c2')).toMatchObject({ state: 'ready', run: 2 });
    expect(world.task('job', 'c2').history).toHaveLength(1);
    for (let at = 0; at < 2; at += 1) node.complete(node.poll(1)[0]!);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('leaves children that failed in this very run as they are', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1')]);
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    node.fail(node.poll(1)[0]!);
    world.advance(10_000);
    node.spawn(node.poll(1)[0]!, [echo('c1')]);
    expect(world.task('job', 'c1')).toMatchObject({ state: 'failed', run: 1 });
    expect(node.poll(1)[0]).toMatchObject({ taskId: 'parent', resumed: true });
  });

  test('a child that is redriven while its parent waits is waited for again', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1'), echo('c2')]);
    const [c1, c2] = node.poll(9);
    node.fail(c1!, { failure: 'fatal' });
    world.redrive('job', 'c1');
    node.complete(c2!);
    expect(world.states('job')['parent']).toBe('blocked');
    world.restart();
    node.complete(node.poll(9)[0]!);
    expect(world.states('job')['parent']).toBe('ready');
  });
});

describe('children are refused', () => {
  test('when one of them is another task of the job', () => {
    const { world, node, parent } = parentRunning([echo('other')]);
    expect(node.spawn(parent, [echo('other')])).toBe('ok');
    expect(world.task('job', 'parent')).toMatchObject({
      state: 'failed',
      error: { code: 'bad_children', message: 'other is another task of the job' },
    });
  });

  test('when they depend on one another', () => {
    const { world, node, parent } = parentRunning();
    node.spawn(parent, [echo('c1'), echo('c2', { dependsOn: ['c1'] })]);
    expect(world.task('job', 'parent')).toMatchObject({
      state: 'failed',
      error: { code: 'bad_children' },
    });
    expect(world.job('job').taskCount).toBe(1);
  });

  test('when the job would become too large', () => {
    const world = new Harness({ settings: { tasksPerJobMax: 3 } });
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('parent')] });
    node.spawn(node.poll(1)[0]!, echoes(2));
    for (const child of node.poll(9)) node.complete(child);
    const [parent] = node.poll(1);
    // The worker's leader checks the list as well, but not against what came in meanwhile.
    const settings = { ...world.settings, tasksPerJobMax: 99 };
    Object.defineProperty(world, 'settings', { value: settings });
    node.spawn(
      parent!,
      [echo('one too many')].map((task) => ({ ...task, id: 'c9' })),
    );
    expect(world.task('job', 'parent').error?.message).toMatch(/4 tasks, more than tasksPerJobMax/);
  });
});

test('a child of the document that depends on its own parent does not deadlock', () => {
  const static1 = echo('after', { parent: 'parent', dependsOn: ['parent'] });
  const { world, node, parent } = parentRunning([static1]);
  node.spawn(parent, [echo('c1')]);
  for (const id of ['c1', 'parent', 'after']) {
    const [task] = node.poll(9);
    expect(task?.taskId).toBe(id);
    node.complete(task!);
  }
  expect(world.job('job').state).toBe('succeeded');
});

describe('suspension for a time', () => {
  test('uses neither attempt nor slot, and goes on with the next fence', () => {
    const world = new Harness();
    const node = world.node('w1', { slots: 1 });
    world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
    const [a] = node.poll(1);
    expect(node.sleep(a!, 60_000)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({
      state: 'delayed',
      suspended: 'time',
      failures: 0,
      notBefore: world.later(60_000),
    });
    const [b] = node.poll(1);
    expect(b?.taskId).toBe('b');
    node.complete(b!);
    for (let at = 0; at < 6; at += 1) {
      expect(node.poll(1)).toEqual([]);
      world.advance(10_000);
      node.beat();
    }
    const [again] = node.poll(1);
    expect(again).toMatchObject({ taskId: 'a', attempt: 1, resumed: true, lease: { fence: 2 } });
  });

  test('is slept through over a restart', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.sleep(node.poll(1)[0]!, 1_000);
    world.advance(500);
    world.restart();
    expect(node.poll(1)).toEqual([]);
    world.advance(500);
    expect(node.poll(1)[0]).toMatchObject({ taskId: 'a', resumed: true });
  });
});

test('over a restart a parent still waits for the children that are open, and no others', () => {
  const { world, node, parent } = parentRunning();
  node.spawn(parent, echoes(3));
  const [first, second, third] = node.poll(9);
  node.complete(first!);
  world.restart();
  node.complete(second!);
  expect(world.states('job')['parent']).toBe('blocked');
  world.restart();
  node.complete(third!);
  expect(world.states('job')['parent']).toBe('ready');
  world.restart();
  expect(node.poll(9)[0]).toMatchObject({ taskId: 'parent', resumed: true });
});

describe('the parent decides what the failure of a child means', () => {
  function family(more: object = {}): { world: Harness; node: ScriptedNode } {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('parent'), echo('other')], ...more });
    const [parent, other] = node.poll(2);
    node.spawn(parent!, [echo('good'), echo('bad')]);
    node.complete(other!);
    const [good, bad] = node.poll(2);
    node.complete(good!);
    node.fail(bad!, { failure: 'fatal' });
    return { world, node };
  }

  test('a job succeeds when the parent has handled a failed child', () => {
    const { world, node } = family();
    node.complete(node.poll(1)[0]!);
    expect(world.job('job')).toMatchObject({ state: 'succeeded', error: null });
  });

  test('also under the next leader, and where the first failure ends all', () => {
    const { world, node } = family({ onFailure: 'cancel' });
    world.restart();
    node.complete(node.poll(1)[0]!);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('a job fails with the parent, and runs again with parent and child', () => {
    const { world, node } = family();
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(world.job('job').error?.message).toMatch(/^task parent failed/);
    world.rerun('job');
    expect(world.states('job')).toEqual({
      parent: 'ready',
      other: 'succeeded',
      good: 'succeeded',
      bad: 'ready',
    });
  });

  test('a failed child that its parent has handled is not rerun', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('parent'), echo('other')] });
    const [parent, other] = node.poll(2);
    node.spawn(parent!, [echo('bad')]);
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    node.complete(node.poll(1)[0]!);
    node.fail(other!, { failure: 'fatal' });
    world.rerun('job');
    expect(world.states('job')).toEqual({ parent: 'succeeded', other: 'ready', bad: 'failed' });
  });

  test('children end with their parent', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('parent', { timeouts: { totalMs: 50 } })] });
    node.spawn(node.poll(1)[0]!, [echo('runs'), echo('waits')]);
    const [runs] = node.poll(1);
    world.advance(50);
    expect(world.states('job')).toEqual({
      parent: 'failed',
      runs: 'running',
      waits: 'cancelled',
    });
    node.beat();
    expect(node.orders.abort).toEqual([runs!.lease]);
    node.obey();
    expect(world.job('job').state).toBe('failed');
  });
});
