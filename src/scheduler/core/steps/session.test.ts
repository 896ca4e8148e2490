import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

const TTL_MS = 20_000;
const HEARTBEAT_MS = 3_000;

describe('registration', () => {
  test('is answered with the times that the session lives by', () => {
    const world = new Harness();
    expect(world.node('w1').register()).toEqual({
      type: 'registered',
      sessionTtlMs: TTL_MS,
      heartbeatMs: HEARTBEAT_MS,
    });
    expect(world.rows.nodes.get(world.node('w2').id)).toMatchObject({
      status: 'healthy',
      sessionId: 'w2-1',
      executors: ['echo'],
    });
  });

  test('of the same session again keeps its leases and takes new capabilities', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), { id: 'q', executor: 'sql' }] });
    const [a] = node.poll(5);
    node.register({ executors: ['echo', 'sql'] });
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['q']);
    expect(node.complete(a!)).toBe('ok');
  });

  test('of the same session again lets a parked poll go on waiting', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(1);
    node.register({ executors: ['echo', 'sql'] });
    world.submit({ name: 'job', tasks: [{ id: 'q', executor: 'sql' }] });
    world.assign();
    expect(node.take().map(({ taskId }) => taskId)).toEqual(['q']);
  });

  test('of a new session ends the one before at once', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    node.restartProcess();
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 1 });
    expect(node.complete(a!)).toBe('lost');
    expect(node.poll()[0]?.lease.fence).toBe(2);
  });

  test('of a session that was replaced is refused, however late it comes', () => {
    const world = new Harness();
    const node = world.node('w1');
    const offer = { ...world.state.nodes.get(node.id)!.offer };
    node.restartProcess();
    world.advance(3 * 3_600_000);
    expect(world.ask({ type: 'register', offer })).toMatchObject({
      type: 'refused',
      error: { code: 'superseded' },
    });
  });
});

test('old sessions are remembered, but not for ever', () => {
  const world = new Harness({ checks: false });
  const node = world.node('w1');
  for (let at = 0; at < 10_100; at += 1) node.restartProcess();
  expect(world.state.replacedSessions.size).toBe(10_000);
});

describe('a replaced session', () => {
  test('gets that answer whatever it sends', () => {
    const world = new Harness();
    const node = world.node('w1');
    const old = { nodeId: node.id, sessionId: node.sessionId };
    node.restartProcess();
    const refused = { type: 'refused', error: { code: 'superseded' } };
    const beat = { type: 'heartbeat', ...old, held: [], seenPoll: 0 } as const;
    expect(world.ask(beat)).toMatchObject(refused);
    const poll = { type: 'poll', ...old, pollNo: 1, capacity: 1, held: [] } as const;
    expect(world.ask(poll)).toMatchObject(refused);
    expect(world.ask({ type: 'report', ...old, items: [] })).toMatchObject(refused);
    expect(world.ask({ type: 'leave', ...old })).toMatchObject(refused);
    expect(world.rows.nodes.get(node.id)?.sessionId).toBe('w1-2');
  });

  test('loses its parked poll', () => {
    const world = new Harness();
    const node = world.node('w1');
    const parked = world.send({
      type: 'poll',
      nodeId: node.id,
      sessionId: node.sessionId,
      pollNo: 1,
      capacity: 1,
      held: [],
    });
    node.restartProcess();
    expect(world.takeReply(parked)).toMatchObject({ error: { code: 'superseded' } });
  });
});

describe('expiry', () => {
  test('a session ends when nothing was heard for its TTL, and its leases with it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    world.advance(TTL_MS - 1);
    expect(world.task('job', 'a').state).toBe('running');
    world.advance(1);
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 1 });
    expect(world.rows.nodes.get(node.id)?.status).toBe('stale');
    expect(() => node.complete(a!)).toThrow('has ended');
  });

  test('a heartbeat extends all leases of the session without a row for any', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(100) });
    const tasks = node.poll(100);
    let batches = 0;
    world.onCommit = (batch) => {
      if (batch.taskUpdates.length + batch.nodeUpserts.length > 0) batches += 1;
    };
    for (let beat = 0; beat < 100; beat += 1) {
      world.advance(HEARTBEAT_MS);
      node.beat();
    }
    expect(batches).toBe(0);
    expect(node.complete(tasks[0]!)).toBe('ok');
  });

  test('any message extends the session', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let at = 0; at < 5; at += 1) {
      world.advance(TTL_MS - 1);
      node.poll();
    }
    expect(world.rows.nodes.get(node.id)?.status).toBe('healthy');
  });

  test('a node without heartbeats is stale, then dead, then removed', () => {
    const world = new Harness();
    const node = world.node('w1');
    const status = (): string | undefined => world.rows.nodes.get(node.id)?.status;
    world.advance(TTL_MS);
    expect(status()).toBe('stale');
    world.advance(120_000 - TTL_MS - 1);
    expect(status()).toBe('stale');
    world.advance(1);
    expect(status()).toBe('dead');
    world.advance(3_600_000 - 1);
    expect(status()).toBe('dead');
    world.advance(1);
    expect(status()).toBeUndefined();
    const kinds = world.log().map(({ kind }) => kind);
    expect(kinds).toEqual(['node.registered', 'node.stale', 'node.dead']);
  });

  test('a stale node comes back with a new session', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.advance(TTL_MS);
    expect(() => node.beat()).toThrow('has ended');
    node.restartProcess();
    expect(world.rows.nodes.get(node.id)?.status).toBe('healthy');
    world.submit({ name: 'job', tasks: [echo('a')] });
    expect(node.poll()).toHaveLength(1);
    for (let at = 0; at < 20; at += 1) {
      world.advance(10_000);
      node.beat();
    }
    expect(world.rows.nodes.get(node.id)?.status).toBe('healthy');
  });

  test('after a restart every session has a full TTL', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.advance(TTL_MS - 1);
    world.restart();
    world.advance(TTL_MS - 1);
    node.beat();
    expect(world.rows.nodes.get(node.id)?.status).toBe('healthy');
  });

  test('a node that falls silent under a new leader is stale before it is dead', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (let at = 0; at < 100; at += 1) {
      world.advance(HEARTBEAT_MS);
      node.beat();
    }
    world.restart();
    world.advance(TTL_MS);
    expect(world.rows.nodes.get(node.id)?.status).toBe('stale');
    world.advance(120_000 - TTL_MS);
    expect(world.rows.nodes.get(node.id)?.status).toBe('dead');
  });

  test('proof that the process is gone ends the session at once, if it is still that session', () => {
    const world = new Harness();
    const node = world.node('w1');
    const { id: nodeId, sessionId } = node;
    node.restartProcess();
    world.send({ type: 'sessionGone', nodeId, sessionId });
    expect(world.rows.nodes.get(nodeId)?.status).toBe('healthy');
    world.send({ type: 'sessionGone', nodeId, sessionId: node.sessionId });
    expect(world.rows.nodes.get(nodeId)?.status).toBe('stale');
  });
});

describe('the held set is compared both ways', () => {
  test('what the worker holds and should not is to be aborted', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(2) });
    const [a] = node.poll(1);
    node.complete(a!);
    expect(node.beat([a!.lease]).abort).toEqual([a!.lease]);
  });

  test('what it had acknowledged and has no longer is sent again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll(1);
    node.poll(1); // acknowledges
    node.held.clear();
    node.beat();
    const again = node.poll(1);
    expect(again.map(({ lease }) => lease.fence)).toEqual([1]);
  });

  test('and it is sent at once to a poll that waits', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll(1);
    node.poll(1); // acknowledges
    node.park(1);
    world.assign();
    expect(node.isParked).toBe(true);
    node.beat([]);
    world.assign();
    expect(node.take().map(({ lease }) => lease.fence)).toEqual([1]);
  });

  test('a heartbeat made before the assignment was received does not bring it into doubt', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll(1);
    node.seenPoll = 0;
    node.beat([]);
    node.seenPoll = 1;
    expect(node.poll(1)).toEqual([]);
    node.seenPoll = 1;
    node.beat([]);
    expect(node.poll(1)).toEqual([]);
    expect(node.complete(a!)).toBe('ok');
  });

  test('a cancelled task that the worker holds no longer has ended', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll(1);
    node.poll(1);
    world.cancel('job');
    node.held.clear();
    node.beat();
    expect(world.job('job').state).toBe('cancelled');
  });
});

describe('drain', () => {
  test('stops new work, lets the node finish, and is part of every answer', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(2) });
    const [a] = node.poll(1);
    expect(world.drain('w1')).toEqual({ type: 'node', nodeId: 'w1' });
    expect(node.poll(1)).toEqual([]);
    expect(node.orders.drain).toBe(true);
    expect(node.complete(a!)).toBe('ok');
    expect(world.rows.nodes.get(node.id)?.draining).toBe(true);
  });

  test('ends the wait of a parked poll', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.park(1);
    world.drain('w1');
    world.assign();
    expect(node.isParked).toBe(false);
  });

  test('survives a restart and ends with a release', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    world.drain('w1');
    world.restart();
    expect(node.poll(1)).toEqual([]);
    world.releaseNode('w1');
    expect(node.poll(1)).toHaveLength(1);
  });

  test('asked twice is logged once', () => {
    const world = new Harness();
    world.node('w1');
    world.drain('w1');
    world.drain('w1');
    expect(world.log().filter(({ kind }) => kind === 'node.draining')).toHaveLength(1);
  });

  test('of an unknown node is refused, and so is its release', () => {
    const world = new Harness();
    const refused = { type: 'refused', error: { code: 'not_found' } };
    expect(world.drain('nobody')).toMatchObject(refused);
    expect(world.releaseNode('nobody')).toMatchObject(refused);
  });

  test('of a stale node leaves nothing behind when it comes back', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.advance(TTL_MS);
    world.drain('w1');
    world.releaseNode('w1');
    node.restartProcess();
    expect(world.state.matching.groupCount).toBe(1);
    node.leave();
    expect(world.state.matching.groupCount).toBe(0);
  });
});

describe('leaving', () => {
  test('gives back what the node holds without counting it', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'job', tasks: [echo('a')] });
    w1.poll();
    expect(w1.leave()).toEqual({ type: 'node', nodeId: 'w1' });
    expect(world.rows.nodes.has(w1.id)).toBe(false);
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', failures: 0, losses: 0 });
    expect(w2.poll()[0]).toMatchObject({ attempt: 1 });
  });

  test('is final for the session', () => {
    const world = new Harness();
    const node = world.node('w1');
    node.leave();
    expect(() => node.beat()).toThrow('has ended');
    expect(node.register()).toMatchObject({ type: 'refused', error: { code: 'superseded' } });
    expect(node.restartProcess()).toMatchObject({ type: 'registered' });
  });
});
