import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

describe('retries', () => {
  test('a retryable failure is tried again after a back-off', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [first] = node.poll();
    node.fail(first!, { code: 'flaky', message: 'not now' });
    expect(world.task('job', 'a')).toMatchObject({
      state: 'delayed',
      failures: 1,
      error: { code: 'flaky', message: 'not now' },
    });
    expect(node.poll()).toEqual([]);
    world.advance(250);
    const [second] = node.poll();
    expect(second).toMatchObject({ attempt: 2, lease: { fence: 2 } });
    node.complete(second!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'succeeded', error: null });
    expect(world.history('job', 'a')).toEqual([
      'created',
      'queued',
      'assigned',
      'retried',
      'queued',
      'assigned',
      'started',
      'completed',
    ]);
  });

  test('a handler that knows when to try again decides itself, and its attempts count as always', () => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { maxAttempts: 2, backoffMs: 100 };
    world.submit({ name: 'job', tasks: [echo('a', { retry })] });
    node.fail(node.poll()[0]!, { retryAfterMs: 9_000 });
    world.advance(8_999);
    expect(node.poll()).toEqual([]);
    world.restart();
    world.advance(1);
    node.fail(node.poll()[0]!, { retryAfterMs: 5 });
    expect(world.task('job', 'a').error?.code).toBe('dead');
  });

  test('the back-off doubles, with a jitter of at most a half, up to its maximum', () => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { maxAttempts: 8, backoffMs: 100, maxBackoffMs: 1_000 };
    world.submit({ name: 'job', tasks: echoes(50, { retry }) });
    const waits: number[][] = [];
    for (let failure = 0; failure < 7; failure += 1) {
      for (const task of node.poll(50)) node.fail(task);
      const rows = echoes(50).map(({ id }) => world.task('job', String(id)));
      waits.push(rows.map((row) => (row.notBefore ?? 0) - world.now));
      world.advance(1_000);
    }
    for (const [failure, each] of waits.entries()) {
      const full = Math.min(1_000, 100 * 2 ** failure);
      expect(Math.max(...each)).toBeLessThanOrEqual(full);
      expect(Math.min(...each)).toBeGreaterThanOrEqual(full / 2);
      // Spread, so that what failed together does not come back together.
      expect(new Set(each).size).toBeGreaterThan(10);
    }
  });

  test('the back-off is the same whoever computes it', () => {
    const waits = [1, 2].map(() => {
      const world = new Harness();
      const node = world.node('w1');
      world.submit({ name: 'job', tasks: [echo('a')] });
      node.fail(node.poll()[0]!);
      return world.task('job', 'a').notBefore;
    });
    expect(waits[0]).toBe(waits[1]);
  });

  test('after three attempts in all a task is dead', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const [task] = node.poll();
      expect(task?.attempt).toBe(attempt);
      node.fail(task!, { code: 'flaky', message: 'not now' });
      world.advance(10_000);
    }
    expect(world.task('job', 'a')).toMatchObject({
      state: 'failed',
      attempt: 3,
      failures: 3,
      error: {
        code: 'dead',
        message: 'gave up after 3 attempts; the last error was flaky: not now',
      },
    });
    expect(world.history('job', 'a').at(-1)).toBe('dead');
    expect(world.job('job').state).toBe('failed');
  });

  test('a fatal failure ends the task at once, under its own name', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.fail(node.poll()[0]!, { failure: 'fatal', code: 'bad_input', message: 'no such file' });
    expect(world.task('job', 'a')).toMatchObject({
      state: 'failed',
      attempt: 1,
      error: { code: 'bad_input', message: 'no such file' },
    });
  });

  test('a task with a single attempt says so when it is dead', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', { retry: { maxAttempts: 1 } })] });
    node.fail(node.poll()[0]!);
    expect(world.task('job', 'a').error?.message).toMatch(/^gave up after 1 attempt;/);
  });
});

describe('loss of the node', () => {
  test('is not a failure of the task: it goes on elsewhere at once', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'job', tasks: [echo('a', { retry: { maxAttempts: 1 } })] });
    const [lost] = w1.poll();
    w1.die();
    const [task] = w2.poll();
    expect(task).toMatchObject({ attempt: 2, lease: { fence: 2 } });
    expect(w2.complete(task!)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({ state: 'succeeded', failures: 0, losses: 1 });
    expect(lost?.lease.fence).toBe(1);
    expect(world.history('job', 'a')).toContain('reassigned');
  });

  test('a task that takes one node after the other with it ends dead', () => {
    const world = new Harness({ settings: { maxLosses: 3 } });
    world.submit({ name: 'job', tasks: [echo('poison')] });
    for (let loss = 1; loss <= 4; loss += 1) {
      const node = world.node(`w${loss}`);
      expect(node.poll()).toHaveLength(1);
      node.die();
      world.advance(60_000);
    }
    expect(world.task('job', 'poison')).toMatchObject({
      state: 'failed',
      failures: 0,
      losses: 4,
      error: {
        code: 'dead',
        message:
          'lost its node 4 times, the last one w4: its process is gone; see the last log lines of that node',
      },
    });
  });

  test('from the second loss on it waits before it goes on', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a')] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.poll();
      node.die();
    }
    expect(world.task('job', 'a').state).toBe('delayed');
  });

  test('losses and failures are counted apart', () => {
    const world = new Harness({ settings: { maxLosses: 2 } });
    const steady = world.node('steady');
    world.submit({ name: 'job', tasks: [echo('a', { retry: { maxAttempts: 3 } })] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.poll();
      node.die();
      world.advance(10_000);
      steady.beat();
    }
    const [task] = steady.poll();
    steady.fail(task!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'delayed', failures: 1, losses: 2 });
  });

  test('a cancelled task whose node is lost has been cancelled', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.cancel('job');
    node.die();
    expect(world.task('job', 'a').state).toBe('cancelled');
    expect(world.job('job').state).toBe('cancelled');
  });
});

describe('giving back', () => {
  test('counts as nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    for (let at = 0; at < 10; at += 1) expect(node.release(node.poll()[0]!)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({
      state: 'ready',
      attempt: 1,
      failures: 0,
      losses: 0,
    });
  });

  test('an abort that nobody ordered counts as nothing either', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.abort(node.poll()[0]!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', failures: 0 });
  });

  test.each(['release', 'leave'] as const)('does not undo a timeout (%s)', (way) => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', { timeouts: { runMs: 100 } })] });
    const [a] = node.poll();
    node.start(a!);
    world.advance(100);
    if (way === 'release') node.release(a!);
    else node.leave();
    expect(world.task('job', 'a')).toMatchObject({ state: 'delayed', failures: 1 });
  });

  test('does not undo the end of the time for all attempts', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', { timeouts: { totalMs: 100 } })] });
    const [a] = node.poll();
    world.advance(100);
    node.release(a!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: { code: 'timeout' } });
  });
});

describe('a missing executor', () => {
  const message = "custom physical operator 'op' is not registered on worker";

  test('sends the task elsewhere without a retry or a mark against the node', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'job', tasks: [echo('a', { retry: { maxAttempts: 1 } })] });
    w1.fail(w1.poll()[0]!, { failure: 'missing', code: 'missing_operator', message });
    expect(world.task('job', 'a')).toMatchObject({
      state: 'ready',
      failures: 0,
      losses: 0,
      error: { code: 'missing_operator', message },
    });
    expect(w1.poll()).toEqual([]);
    expect(w2.complete(w2.poll()[0]!)).toBe('ok');
    expect(world.rows.nodes.get(w1.id)?.quarantinedUntil).toBeNull();
  });

  test('is not asked of that session again until it registers anew', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.fail(node.poll()[0]!, { failure: 'missing' });
    expect(node.poll()).toEqual([]);
    node.register();
    expect(node.poll()).toHaveLength(1);
  });

  test('leaves the node its other executors', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sql'] });
    world.submit({ name: 'job', tasks: [echo('a'), { id: 'q', executor: 'sql' }] });
    const echoed = node.poll(2).find(({ taskId }) => taskId === 'a');
    node.fail(echoed!, { failure: 'missing' });
    world.submit({ name: 'next', tasks: [echo('a'), { id: 'q', executor: 'sql' }] });
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['q']);
  });

  test('strikes what is named: a fragment’s operator, not the executor that runs it', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['sql', 'op'] });
    const custom = { id: 'c', executor: 'sql', placement: { executors: ['op'] } };
    world.submit({ name: 'job', tasks: [custom] });
    node.fail(node.poll()[0]!, { failure: 'missing', missing: 'op', message });
    expect(node.poll(5)).toEqual([]);
    world.submit({ name: 'plain', tasks: [{ id: 'q', executor: 'sql' }] });
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['q']);
  });

  test('a node in quarantine serves when the only other one lacks the executor', () => {
    const world = new Harness({ settings: { quarantineFailures: 1, quarantineJobs: 1 } });
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'bad', tasks: [echo('a')] });
    w1.fail(w1.poll()[0]!);
    expect(world.rows.nodes.get(w1.id)?.quarantinedUntil).not.toBeNull();
    world.submit({ name: 'job', tasks: [echo('a')] });
    w2.fail(w2.poll()[0]!, { failure: 'missing' });
    expect(w1.poll()).toHaveLength(1);
  });
});

test('a task that has come as far as a new wait may fail as often again', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a', { retry: { maxAttempts: 2, backoffMs: 0 } })] });
  node.fail(node.poll(1)[0]!);
  world.advance(1);
  const [second] = node.poll(1);
  expect(second?.attempt).toBe(2);
  node.wait(second!, { sleepMs: 10 });
  world.advance(10);
  const [resumed] = node.poll(1);
  expect(resumed?.attempt).toBe(1);
  node.fail(resumed!);
  world.advance(1);
  expect(world.states('job')).toEqual({ a: 'ready' });
  node.fail(node.poll(1)[0]!);
  expect(world.task('job', 'a').error?.code).toBe('dead');
});
