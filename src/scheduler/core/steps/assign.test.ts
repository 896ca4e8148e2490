import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

describe('a poll', () => {
  test('is answered with as many tasks as it asked for', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(5) });
    expect(node.poll(3)).toHaveLength(3);
    expect(node.poll(3)).toHaveLength(2);
    expect(node.poll(3)).toHaveLength(0);
  });

  test('waits until there is work', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(2);
    world.assign();
    expect(node.isParked).toBe(true);
    world.submit({ name: 'job', tasks: [echo('a')] });
    world.assign();
    expect(node.take().map(({ taskId }) => taskId)).toEqual(['a']);
  });

  test('gives each attempt a larger fence', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const fences: number[] = [];
    for (let at = 0; at < 3; at += 1) {
      const [a] = node.poll();
      fences.push(a!.lease.fence);
      node.release(a!);
    }
    expect(fences).toEqual([1, 2, 3]);
  });

  test('spreads work over the nodes that wait', () => {
    const world = new Harness();
    const nodes = ['w1', 'w2', 'w3'].map((id) => world.node(id));
    for (const node of nodes) node.park(10);
    world.submit({ name: 'job', tasks: echoes(6) });
    world.assign();
    expect(nodes.map((node) => node.take().length)).toEqual([2, 2, 2]);
  });

  test('says what to run: executor, run, attempt and the time it may take', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', { timeouts: { runMs: 700 } })] });
    const [a] = node.poll();
    expect(a).toEqual({
      assignedAt: world.now,
      scheduledAt: null,
      hasChildren: false,
      lease: { jobNo: 1, taskNo: 0, fence: 1, term: 'term-1', jobId: 'job' },
      jobId: 'job',
      taskId: 'a',
      executor: 'echo',
      run: 1,
      attempt: 1,
      runMs: 700,
      resumed: false,
      trace: null,
      idempotencyKey: null,
    });
  });

  test('carries the key that its user gave it, whatever is in it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', { idempotencyKey: 'order/7' })] });
    expect(node.poll()[0]).toMatchObject({ idempotencyKey: 'order/7' });
  });
});

describe('acknowledgement', () => {
  test('what a poll does not list was never received and is sent again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(2) });
    node.park(1);
    world.assign();
    node.loseAnswer();
    const again = node.poll(1);
    expect(again).toHaveLength(1);
    expect(again[0]?.lease.fence).toBe(1);
    expect(world.task('job', 't0')).toMatchObject({ state: 'running', attempt: 1 });
    expect(world.task('job', 't1').state).toBe('ready');
  });

  test('what it lists is not sent again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll(5);
    expect(node.poll(5)).toEqual([]);
  });

  test('what is sent again takes the place of something new', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(4) });
    node.park(2);
    world.assign();
    node.loseAnswer();
    expect(node.poll(3)).toHaveLength(3);
    expect(node.held.size).toBe(3);
  });

  test('a cancelled task that was never received needs no abort: it has ended', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.park(1);
    world.assign();
    node.loseAnswer();
    world.cancel('job');
    expect(world.states('job')).toEqual({ a: 'running' });
    expect(node.poll(1)).toEqual([]);
    expect(node.orders.abort).toEqual([]);
    expect(world.job('job').state).toBe('cancelled');
  });

  test('a lease of another worker is answered with an abort', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = w1.poll();
    w2.park(1, [a!.lease]);
    world.assign();
    w2.take();
    expect(w2.orders.abort).toEqual([a!.lease]);
  });
});

describe('several polls of one session', () => {
  test('a newer poll takes the place of the parked one', () => {
    const world = new Harness();
    const node = world.node('w1');
    const speaker = { nodeId: node.id, sessionId: node.sessionId };
    const first = world.send({ type: 'poll', ...speaker, pollNo: 1, capacity: 1, held: [] });
    const second = world.send({ type: 'poll', ...speaker, pollNo: 2, capacity: 1, held: [] });
    expect(world.takeReply(first)).toMatchObject({ type: 'assignments', assignments: [] });
    world.submit({ name: 'job', tasks: echoes(2) });
    world.assign();
    expect(world.takeReply(second)).toMatchObject({ assignments: [{ taskId: 't0' }] });
    expect(world.states('job')).toEqual({ t0: 'running', t1: 'ready' });
  });

  test('an older poll that arrives late changes nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    const speaker = { nodeId: node.id, sessionId: node.sessionId };
    const newer = world.send({ type: 'poll', ...speaker, pollNo: 7, capacity: 1, held: [] });
    const older = world.ask({ type: 'poll', ...speaker, pollNo: 6, capacity: 9, held: [] });
    expect(older).toMatchObject({ type: 'assignments', assignments: [] });
    world.submit({ name: 'job', tasks: echoes(2) });
    world.assign();
    expect(world.takeReply(newer)).toMatchObject({ assignments: [{ taskId: 't0' }] });
  });

  test('a poll that wants nothing gets nothing, though the one before wanted more', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(5);
    world.assign();
    node.park(0);
    world.submit({ name: 'job', tasks: echoes(2) });
    world.assign();
    expect(node.take()).toEqual([]);
    expect(world.states('job')).toEqual({ t0: 'ready', t1: 'ready' });
  });

  test.each([
    [true, 'takes one for each task that its worker reports as ended'],
    [false, 'takes no more than it asked for'],
  ])('a poll that refills (%s) %s', (refills) => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(3) });
    const [first] = node.poll(1);
    const { id: nodeId, sessionId } = node;
    const held = [first!.lease];
    const parked = world.send({
      ...{ type: 'poll', nodeId, sessionId, pollNo: 100, capacity: 0, held, refills },
    });
    world.assign();
    expect(world.states('job')).toMatchObject({ t1: 'ready', t2: 'ready' });
    node.report([{ kind: 'completed', lease: first!.lease, result: null }]);
    world.assign();
    const states = refills ? { t1: 'running', t2: 'ready' } : { t1: 'ready', t2: 'ready' };
    expect(world.states('job')).toMatchObject(states);
    const reply = world.takeReply(parked);
    if (refills) expect(reply).toMatchObject({ assignments: [{ taskId: 't1' }] });
    else expect(reply).toBeUndefined();
  });
});

describe('cancelling a poll', () => {
  test('is answered in the next pass, with nothing if there is nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(1);
    node.hangUp();
    world.assign();
    expect(node.isParked).toBe(false);
    expect(node.take()).toEqual([]);
  });

  test('that is no longer parked changes nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(1);
    const { id: nodeId, sessionId, pollNo } = node;
    world.send({ type: 'hangUp', nodeId, sessionId, pollNo: pollNo - 1 });
    world.assign();
    expect(node.isParked).toBe(true);
  });

  test('assigns nothing: a cancelled poll gets no task in a later pass', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.poll(1);
    world.submit({ name: 'job', tasks: [echo('a')] });
    world.assign();
    expect(world.states('job')).toEqual({ a: 'ready' });
  });
});

test('an order answers a parked poll', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  const [a] = node.poll(1);
  node.park(1);
  world.assign();
  expect(node.isParked).toBe(true);
  world.cancel('job');
  world.assign();
  expect(node.take()).toEqual([]);
  expect(node.orders.abort).toEqual([a!.lease]);
});

test('a limit that becomes free serves a parked poll', () => {
  const world = new Harness();
  const node = world.node('w1', { slots: 1 });
  world.submit({ name: 'job', tasks: echoes(2) });
  const [first] = node.poll(1);
  node.park(1);
  world.assign();
  expect(node.isParked).toBe(true);
  node.complete(first!);
  world.assign();
  expect(node.take().map(({ taskId }) => taskId)).toEqual(['t1']);
});
