import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import {
  OUTPUT_GRAPH,
  make,
  outputWorld,
  take,
} from '../../../../test/rig/harness/output-world.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment } from '../index.ts';

const SAME = 'deterministic';

describe('when a session ends, its outputs are recomputed', () => {
  test('if somebody will still read it: the reader waits, and the row of the first run is kept', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    expect(world.states('job')).toMatchObject({ c: 'ready' });
    one.die();
    expect(world.states('job')).toEqual({ a: 'ready', b: 'succeeded', c: 'blocked', d: 'blocked' });
    expect(world.task('job', 'a')).toMatchObject({ run: 2, losses: 1, attempt: 0 });
    expect(world.task('job', 'a').history).toMatchObject([
      { run: 1, state: 'succeeded', nodeId: 'w1' },
    ]);
    expect(world.history('job', 'a').slice(-2)).toEqual(['recomputed', 'queued']);
    expect(make(two)).toMatchObject({ taskId: 'a', run: 2, lease: { fence: 2 } });
    expect(make(two).taskId).toBe('c');
    expect(make(two).taskId).toBe('d');
    expect(world.job('job').state).toBe('succeeded');
  });

  test('and a node whose only output is recomputed elsewhere forgets the job when it ends', () => {
    const b = echo('b', { dependsOn: ['a'] });
    const tasks = [echo('a'), b, echo('c', { dependsOn: ['a', 'b'] })];
    const { world, one, two, three } = outputWorld(
      { a: 'non-deterministic', b: 'deterministic' },
      { tasks },
    );
    make(one);
    make(two);
    one.die();
    expect(world.states('job')).toEqual({ a: 'ready', b: 'blocked', c: 'blocked' });
    for (const id of ['a', 'b', 'c']) expect(make(three).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
    const kept = [...world.state.nodes.values()].map(({ outputJobs }) => outputJobs.size);
    expect(kept).toEqual(kept.map(() => 0));
  });

  test('also under a key that the reader has: who waits again gives it up', () => {
    const world = new Harness();
    const node = world.node('w1');
    const key = { idempotencyKey: 'k' };
    const tasks = [echo('a', key), echo('b', { dependsOn: ['a'], ...key })];
    world.submit(
      { name: 'job', tasks },
      {
        own: { a: { output: 'deterministic' } },
        // It is given as done, so the key was the reader's.
        seeds: { a: { state: 'succeeded', result: '1' } },
      },
    );
    expect(world.states('job')).toEqual({ a: 'succeeded', b: 'ready' });
    world.restart();
    world.advance(1);
    expect(world.states('job')).toEqual({ a: 'ready', b: 'blocked' });
    expect(make(node).taskId).toBe('a');
    expect(world.states('job')).toEqual({ a: 'succeeded', b: 'succeeded' });
  });

  test('also when it leaves in order, or registers anew', () => {
    for (const end of [
      (node: ScriptedNode) => node.leave(),
      (node: ScriptedNode) => node.restartProcess(),
    ]) {
      const { world, one, two } = outputWorld();
      make(one);
      make(two);
      end(one);
      expect(world.states('job')).toMatchObject({ a: 'ready', b: 'succeeded', c: 'blocked' });
    }
  });

  test('not if everybody who reads it has ended', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(one);
    make(two);
    one.die();
    expect(world.states('job')).toEqual({
      a: 'succeeded',
      b: 'succeeded',
      c: 'succeeded',
      d: 'ready',
    });
    make(two);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('with every earlier loss that was not needed until now: the recomputed task reads it', () => {
    const { world, one, two, three } = outputWorld();
    make(one);
    make(one);
    make(two);
    one.die();
    two.die();
    expect(world.states('job')).toEqual({ a: 'ready', b: 'ready', c: 'blocked', d: 'blocked' });
    for (const id of ['a', 'b', 'c', 'd']) expect(make(three).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('with what nobody depends on while the job lives: it is what the job is for', () => {
    const tasks = [echo('a'), echo('b')];
    const { world, one, two } = outputWorld({ a: 'deterministic', b: 'deterministic' }, { tasks });
    make(one);
    one.die();
    expect(world.states('job')).toEqual({ a: 'ready', b: 'ready' });
    make(two);
    make(two);
    expect(world.job('job').state).toBe('succeeded');
    two.die();
    expect(world.job('job').state).toBe('succeeded');
  });

  test('but not of a task whose result is all that it made', () => {
    const { world, one } = outputWorld({ c: 'deterministic' });
    make(one);
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'succeeded', b: 'ready' });
  });

  test('but not of a job that is being stopped', () => {
    const { world, one, two } = outputWorld();
    make(one);
    const held = take(two);
    world.cancel('job');
    one.die();
    expect(world.task('job', 'a')).toMatchObject({ state: 'succeeded', run: 1 });
    two.abort(held);
    expect(world.job('job').state).toBe('cancelled');
  });

  test('a task that was about to be tried again waits for it', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    two.fail(take(two));
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'delayed' });
    world.advance(1_000);
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'blocked' });
    make(two);
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'ready' });
  });
});

describe('a task that runs while its input is recomputed', () => {
  test('continues, and its result counts', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    const running = take(two);
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'running' });
    expect(two.complete(running)).toBe('ok');
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'succeeded', d: 'ready' });
  });

  test.each([
    ['fails', (node: ScriptedNode, task: Assignment) => node.fail(task)],
    ['is given back', (node: ScriptedNode, task: Assignment) => node.release(task)],
    ['loses its node', (node: ScriptedNode) => node.die()],
  ])('waits for it when it %s', (_, end) => {
    const { world, one, two, three } = outputWorld({ a: 'deterministic' });
    make(one);
    make(three);
    const running = take(two);
    one.die();
    end(two, running);
    world.advance(1_000);
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'blocked' });
    expect(make(three).taskId).toBe('a');
    expect(world.states('job')).toMatchObject({ c: 'ready' });
  });

  test('does not wait for inputs that were recomputed by then', () => {
    const { world, one, two, three } = outputWorld();
    make(one);
    make(two);
    const running = take(two);
    one.die();
    make(three);
    two.release(running);
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'ready' });
  });
});

describe('a reader that does not find what it reads', () => {
  test('reports it, and it is recomputed with all outputs of the same session', () => {
    const tasks = [echo('x'), ...OUTPUT_GRAPH, echo('y', { dependsOn: ['x'] })];
    const { world, one, two } = outputWorld({ x: SAME, a: SAME, b: SAME }, { tasks });
    for (let count = 0; count < 3; count += 1) make(one);
    const reader = take(two);
    expect(reader.taskId).toBe('y');
    expect(two.loseInput(reader, { x: 1 })).toBe('ok');
    expect(world.states('job')).toMatchObject({ x: 'ready', a: 'ready', b: 'ready', c: 'blocked' });
    expect(world.task('job', 'y')).toMatchObject({ state: 'blocked', losses: 1, failures: 0 });
    expect(world.history('job', 'y').slice(-2)).toEqual(['reassigned', 'held']);
    // It is not the node's fault as long as it lives.
    expect(make(one)).toMatchObject({ taskId: 'x', run: 2 });
  });

  test('is accepted only for current outputs', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    one.die();
    make(two);
    const reader = take(two);
    expect(two.loseInput(reader, { a: 1 })).toBe('ok');
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'ready' });
    expect(world.task('job', 'a').run).toBe(2);
  });

  test.each([{ d: 0 }, { zz: 1 }, { b: 7 }])('and only for its own inputs: %j', (named) => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    two.loseInput(take(two), named);
    expect(world.states('job')).toMatchObject({ a: 'succeeded', b: 'succeeded', c: 'ready' });
  });

  test('and not for inputs of other tasks', () => {
    const { world, one, two } = outputWorld();
    for (let count = 0; count < 3; count += 1) make(one);
    two.loseInput(take(two), { a: 1 });
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'succeeded', d: 'ready' });
  });

  test('may report it twice: the answer was lost', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    const reader = take(two);
    two.loseInput(reader, { a: 1 });
    expect(two.loseInput(reader, { a: 1 })).toBe('ok');
    expect(world.task('job', 'c').losses).toBe(1);
  });

  test('fails when it has reported losses too often', () => {
    const { world, one, two } = outputWorld(undefined, { settings: { maxLosses: 2 } });
    make(one);
    make(two);
    for (let round = 0; round < 3; round += 1) {
      const reader = take(two);
      expect(reader.taskId).toBe('c');
      two.loseInput(reader, { a: 99 });
      world.advance(5_000);
      for (const node of [one, two]) node.beat();
    }
    const { error, state } = world.task('job', 'c');
    expect(state).toBe('failed');
    expect(error).toMatchObject({ code: 'input_lost' });
    expect(error?.message).toMatch(/lost 3 times.*nobody answers/);
    expect(world.job('job').state).toBe('failed');
  });

  test('ends as ordered when it was asked to stop', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    const reader = take(two);
    world.cancel('job');
    expect(two.loseInput(reader, { a: 1 })).toBe('ok');
    expect(world.job('job').state).toBe('cancelled');
    expect(world.task('job', 'a').run).toBe(1);
  });

  test('fails when its time is up', () => {
    const tasks = [echo('a'), echo('c', { dependsOn: ['a'], timeouts: { runMs: 100 } })];
    const { world, one, two } = outputWorld({ a: 'deterministic' }, { tasks });
    make(one);
    const reader = take(two);
    two.start(reader);
    world.advance(200);
    two.loseInput(reader, { a: 1 });
    expect(world.task('job', 'c')).toMatchObject({ failures: 1, losses: 0 });
    expect(world.task('job', 'a').run).toBe(2);
  });
});

test('a task whose output is lost too often fails, and says so', () => {
  const tasks = [echo('a'), echo('c', { dependsOn: ['a'] })];
  const { world, one } = outputWorld({ a: 'deterministic' }, { tasks, settings: { maxLosses: 2 } });
  for (let round = 0; round < 3; round += 1) {
    expect(world.states('job')).toMatchObject({ a: 'ready' });
    expect(make(one)).toMatchObject({ run: round + 1, attempt: round + 1 });
    one.restartProcess();
  }
  const { state, error, losses } = world.task('job', 'a');
  expect({ state, losses, code: error?.code }).toEqual({
    state: 'failed',
    losses: 3,
    code: 'dead',
  });
  expect(error?.message).toMatch(/lost 3 times/);
  expect(world.states('job')).toMatchObject({ c: 'skipped' });
  // By hand it begins anew, and nothing is held against it.
  world.redrive('job', 'a');
  expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 0, run: 5 });
});

test('returning a task does not reset its count of losses', () => {
  const tasks = [echo('a'), echo('c', { dependsOn: ['a'] })];
  const { world, one } = outputWorld({ a: 'deterministic' }, { tasks });
  make(one);
  one.restartProcess();
  one.sleep(take(one), 10);
  expect(world.task('job', 'a')).toMatchObject({ state: 'delayed', losses: 1 });
});

test('a task that succeeds in the transaction in which its node is lost is recomputed in the next', () => {
  const { world, one, two } = outputWorld();
  const task = take(one);
  make(two);
  world.together([
    one.reporting([{ kind: 'completed', lease: task.lease, result: '1' }]),
    one.goneEvent(),
    { type: 'assign' },
  ]);
  expect(world.task('job', 'a')).toMatchObject({ state: 'succeeded', run: 1, result: 1 });
  world.advance(1);
  expect(world.task('job', 'a')).toMatchObject({ state: 'ready', run: 2, result: null });
  expect(world.task('job', 'a').history).toMatchObject([{ state: 'succeeded', run: 1 }]);
});

describe('a new leader', () => {
  test('recomputes what was lost while nobody led', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    world.rows.nodes.delete(one.id);
    world.restart();
    expect(world.task('job', 'a').run).toBe(1);
    world.tick();
    expect(world.states('job')).toMatchObject({ a: 'ready', b: 'succeeded', c: 'blocked' });
  });

  test('knows a node that came back as another session', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    world.advance(10);
    const row = world.rows.nodes.get(one.id)!;
    const anew = { ...row, sessionId: 'other' as typeof row.sessionId, registeredAt: world.now };
    world.rows.nodes.set(one.id, anew);
    world.restart();
    world.tick();
    expect(world.states('job')).toMatchObject({ a: 'ready', b: 'succeeded', c: 'blocked' });
  });

  test('keeps what lies on sessions that live, and loses it when they end', () => {
    const { world, one, two } = outputWorld();
    make(one);
    make(two);
    world.restart();
    world.tick();
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'ready' });
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'blocked' });
  });
});

test('a job that is run again makes all that it needs again: what it had is thrown away', () => {
  const { world, one } = outputWorld({ a: SAME, b: SAME, c: SAME });
  make(one);
  make(one);
  one.fail(take(one), { failure: 'fatal' });
  expect(world.job('job').state).toBe('failed');
  world.rerun('job');
  expect(world.states('job')).toEqual({ a: 'ready', b: 'ready', c: 'blocked', d: 'blocked' });
  for (const id of ['a', 'b', 'c', 'd']) expect(make(one).taskId).toBe(id);
  expect(world.job('job').state).toBe('succeeded');
});

test('a task that sleeps while its input is recomputed waits for it when it wakes', () => {
  const { world, one, two } = outputWorld();
  make(one);
  make(two);
  two.sleep(take(two), 500);
  one.die();
  expect(world.states('job')).toMatchObject({ a: 'ready', c: 'delayed' });
  world.advance(500);
  expect(world.task('job', 'c')).toMatchObject({ state: 'blocked', suspended: null });
  make(two);
  expect(make(two).taskId).toBe('c');
});
