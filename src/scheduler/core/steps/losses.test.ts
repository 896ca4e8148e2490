import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment } from '../effects.ts';

const MINUTE_MS = 60_000;

/** A worker takes what it can, runs as many as it has slots, and dies if the poison is among those. */
function takeUntilPoison(node: ScriptedNode, slots: number, says: boolean): boolean {
  const held: Assignment[] = [...node.poll(12)];
  while (held.length > 0) {
    const running = held.slice(0, slots);
    if (says) for (const task of running) node.start(task);
    if (running.some(({ taskId }) => taskId === 'poison')) {
      node.die();
      return false;
    }
    node.complete(held.shift()!);
  }
  return true;
}

/** One worker after the other until all is over. */
function runAll(world: Harness, slots: number, says: boolean): void {
  for (let at = 1; at <= 60 && world.state.jobs.size > 0; at += 1) {
    const node = world.node(`w${at}`, { slots, prefetch: 1_000 });
    while (world.state.jobs.size > 0 && takeUntilPoison(node, slots, says)) world.advance(1_000);
    world.advance(MINUTE_MS);
  }
}

describe.each([
  ['that reports its start', true],
  ['that kills before its start is reported', false],
])('a poison task %s', (_, says) => {
  test('a task that kills its node fails alone: prefetched tasks succeed', () => {
    const world = new Harness();
    world.submit({ name: 'poison', tasks: [echo('poison')] });
    world.submit({ name: 'innocent', tasks: echoes(10) });
    runAll(world, 1, says);
    expect(world.job('innocent').state).toBe('succeeded');
    expect(world.task('poison', 'poison')).toMatchObject({ state: 'failed', losses: 6 });
    expect(world.task('poison', 'poison').error?.message).toMatch(/^lost its node 6 times/);
  });

  test('a task that kills its node fails alone: concurrent tasks succeed', () => {
    const world = new Harness();
    world.submit({ name: 'innocent', tasks: echoes(7) });
    world.submit({ name: 'poison', tasks: [echo('poison')] });
    world.submit({ name: 'others', tasks: echoes(8) });
    runAll(world, 4, says);
    expect(world.job('innocent').state).toBe('succeeded');
    expect(world.job('others').state).toBe('succeeded');
    expect(world.task('poison', 'poison').error?.code).toBe('dead');
  });

  test('a task that kills its node fails alone, even with maxLosses 1', () => {
    const world = new Harness();
    const once = { retry: { maxLosses: 1 } };
    world.submit({ name: 'poison', tasks: [echo('poison', once)] });
    world.submit({ name: 'innocent', tasks: echoes(10, once) });
    runAll(world, 4, says);
    expect(world.job('innocent').state).toBe('succeeded');
    expect(world.task('poison', 'poison')).toMatchObject({ state: 'failed', losses: 2 });
  });
});

test('an attempt that had not begun when its node was lost does not count while another had', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('begun'), echo('prefetched')] });
  const node = world.node('w1');
  const [begun] = node.poll(2);
  node.start(begun!);
  node.die();
  expect(world.task('job', 'begun')).toMatchObject({ state: 'ready', losses: 1 });
  expect(world.task('job', 'prefetched')).toMatchObject({ state: 'ready', losses: 0 });
});

test('whether an attempt had begun is known after a restart of the leader, too', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('begun'), echo('prefetched')] });
  const node = world.node('w1');
  const [begun] = node.poll(2);
  node.start(begun!);
  world.restart();
  node.die();
  expect(world.task('job', 'begun').losses).toBe(1);
  expect(world.task('job', 'prefetched').losses).toBe(0);
});

describe('a task that has lost its node twice', () => {
  function suspect(): Harness {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('suspect')] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.start(node.poll()[0]!);
      node.die();
    }
    world.advance(1_000);
    return world;
  }

  test('runs alone: its node gets nothing else until it has ended', () => {
    const world = suspect();
    const node = world.node('w3');
    const [task] = node.poll(1);
    expect(task?.taskId).toBe('suspect');
    world.submit({ name: 'more', tasks: echoes(5) });
    expect(node.poll(5)).toEqual([]);
    expect(world.explain('more', 't0')?.why).toContain('suspect');
    node.complete(task!);
    expect(node.poll(5)).toHaveLength(5);
  });

  test('does not take precedence: others get their turn on a node that it may kill', () => {
    const world = suspect();
    world.submit({ name: 'more', tasks: echoes(5) });
    const taken = [world.node('w3'), world.node('w4')].map((node) => node.poll(2));
    const ids = taken.flat().map(({ taskId }) => taskId);
    expect(ids).toContain('suspect');
    expect(ids).toContain('t0');
  });

  test('does so after a restart of the leader, too', () => {
    const world = suspect();
    const node = world.node('w3');
    world.restart();
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['suspect']);
    world.submit({ name: 'more', tasks: echoes(5) });
    world.restart();
    expect(node.poll(5)).toEqual([]);
  });

  test('gets a node that is emptied for it, and others continue elsewhere', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('suspect')] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.start(node.poll()[0]!);
      node.die();
    }
    const nodes = [world.node('w3'), world.node('w4')];
    world.submit({ name: 'flood', tasks: echoes(200) });
    for (const node of nodes) expect(node.poll(4)).toHaveLength(4);
    world.advance(1_000);
    // Each completes one and asks for two: without a reservation none would ever be empty.
    for (let at = 0; at < 20; at += 1) {
      for (const node of nodes) {
        const taken = node.poll(2);
        if (taken.some(({ taskId }) => taskId === 'suspect')) {
          expect(node.held.size).toBe(1);
          const other = nodes.find((each) => each !== node);
          expect(other?.poll(5)).toHaveLength(5);
          return;
        }
        const [oldest] = node.held.values();
        if (oldest !== undefined) node.complete(oldest);
      }
    }
    throw new Error('the suspect was never given a node');
  });

  test('gives its node back to others at once when its key is paused', () => {
    const world = new Harness();
    const limits = [{ key: 'db', max: 9 }];
    world.submit({ name: 'job', tasks: [echo('suspect', { limits })] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.start(node.poll()[0]!);
      node.die();
    }
    const node = world.node('w3');
    world.submit({ name: 'long', tasks: [echo('a')] });
    const [a] = node.poll(1);
    world.advance(1_000);
    expect(world.explain('job', 'suspect')).toMatchObject({ code: 'alone' });
    world.ask({ type: 'pauseQueue', target: { kind: 'key', name: 'db' }, reason: null });
    world.submit({ name: 'more', tasks: echoes(3) });
    node.complete(a!);
    expect(node.poll(2)).toHaveLength(2);
  });

  test('explains that it waits for a node to itself', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('suspect')] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.start(node.poll()[0]!);
      node.die();
    }
    const node = world.node('w3');
    world.submit({ name: 'long', tasks: [echo('a')] });
    node.poll(1);
    world.advance(1_000);
    expect(world.explain('job', 'suspect')).toMatchObject({ code: 'alone' });
    expect(world.explain('job', 'suspect')?.why).toMatch(/runs alone.*w3/);
  });

  test('may share a node again in a new run', () => {
    const world = suspect();
    world.cancel('job');
    world.rerun('job');
    world.submit({ name: 'more', tasks: echoes(2) });
    expect(world.node('w3').poll(5)).toHaveLength(3);
  });
});

describe('two workers of one name', () => {
  test('the second is refused while the first lives, and no task is lost', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    const offer = { ...world.state.nodes.get(node.id)!.offer, sessionId: 'other' as never };
    expect(world.ask({ type: 'register', offer })).toMatchObject({
      type: 'refused',
      error: { code: 'name_taken' },
    });
    expect(node.complete(a!)).toBe('ok');
    expect(world.task('job', 'a').losses).toBe(0);
  });

  test('the second is taken in when the first has been silent for its TTL', () => {
    const world = new Harness();
    const node = world.node('w1');
    const offer = { ...world.state.nodes.get(node.id)!.offer, sessionId: 'other' as never };
    world.advance(world.settings.sessionTtlMs);
    expect(world.ask({ type: 'register', offer })).toMatchObject({ type: 'registered' });
  });

  test('a new session of the same process replaces the old one, and nothing is counted', () => {
    const world = new Harness();
    const node = world.node('w1', { capabilities: { process: 'host:1:1' } });
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.start(node.poll()[0]!);
    const offer = { ...world.state.nodes.get(node.id)!.offer, sessionId: 'other' as never };
    expect(world.ask({ type: 'register', offer })).toMatchObject({ type: 'registered' });
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 0, attempt: 1 });
  });
});
