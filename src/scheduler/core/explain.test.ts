import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../test/rig/harness.ts';
import type { Waiting } from '../../../test/rig/harness/scripted-node.ts';
import type { WaitCode } from './explain.ts';

/** Task `a` of `job` waits for this. */
function waiting(what: Waiting): Harness {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  node.wait(node.poll()[0]!, what);
  return world;
}

/** For each code, a world in which task `a` of `job` waits for just that. */
const worlds: Readonly<Record<WaitCode, () => Harness>> = {
  alone: () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a')] });
    for (const id of ['w1', 'w2']) {
      const node = world.node(id);
      node.start(node.poll()[0]!);
      node.die();
    }
    const node = world.node('w3');
    world.submit({ name: 'other', tasks: [echo('x')] });
    node.poll(1);
    world.advance(1_000);
    return world;
  },
  signal: () => waiting({ signals: ['yes', 'no'] }),
  child_job: () => waiting({ jobs: { c: { tasks: [echo('x')] } } }),
  dependencies: () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('x'), echo('a', { dependsOn: ['x'] })] });
    return world;
  },
  children: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.spawn(node.poll()[0]!, [echo('c1'), echo('c2')]);
    return world;
  },
  batch: () => {
    const world = new Harness();
    const batch = { key: 'k', max: 9, ms: 1_000 };
    for (const name of ['first', 'job'])
      world.submit({ name, batch, tasks: [echo('a', { input: [] })] });
    return world;
  },
  execution_key: () => {
    const world = new Harness();
    world.submit({ name: 'owner', tasks: [echo('o', { idempotencyKey: 'k' })] });
    world.submit({ name: 'job', tasks: [echo('a', { idempotencyKey: 'k' })] });
    return world;
  },
  admission: () => {
    const world = new Harness({ settings: { maxQueries: 1 } });
    const own = { a: { admission: { memoryBytes: 1 } } };
    for (const name of ['first', 'second', 'job']) {
      world.submit({ name, tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] }, { own });
    }
    return world;
  },
  back_off: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.fail(node.poll()[0]!, { code: 'flaky' });
    return world;
  },
  rate_limit: () => {
    const world = new Harness();
    const node = world.node('w1');
    const limits = [{ key: 'api', max: 1, perMs: 60_000 }];
    world.submit({ name: 'other', tasks: [echo('x', { limits })] });
    node.complete(node.poll()[0]!);
    world.submit({ name: 'job', tasks: [echo('a', { limits })] });
    node.poll();
    return world;
  },
  run_at: () => {
    const world = new Harness();
    world.node('w1');
    world.submit({ name: 'job', runAt: world.now + 1_000, tasks: [echo('a')] });
    return world;
  },
  sleep: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.sleep(node.poll()[0]!, 700);
    return world;
  },
  no_node_fits: () => {
    const world = new Harness();
    world.node('w1', { capabilities: { cpu: 4 } });
    world.node('w2', { executors: ['sql'], capabilities: { cpu: 4 } });
    const placement = { capabilities: { cpu: 8 } };
    world.submit({ name: 'job', tasks: [echo('a', { placement })] });
    return world;
  },
  no_node_free: () => {
    const world = new Harness();
    world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    return world;
  },
  nodes_unavailable: () => {
    const world = new Harness();
    world.node('w1');
    world.drain('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    return world;
  },
  job_limit: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', maxParallel: 1, tasks: [echo('x'), echo('a')] });
    node.poll(9);
    return world;
  },
  concurrency_key: () => {
    const world = new Harness();
    const node = world.node('w1');
    const concurrency = { key: 'db', limit: 1 };
    world.submit({ name: 'other', tasks: [echo('x', { concurrency })] });
    node.poll(9);
    world.submit({ name: 'job', tasks: [echo('a', { concurrency })] });
    return world;
  },
  paused: () => {
    const world = new Harness();
    world.node('w1');
    const target = { kind: 'executor', name: 'echo' } as const;
    world.ask({ type: 'pauseQueue', target, reason: 'the bank is down' });
    world.submit({ name: 'job', tasks: [echo('a')] });
    return world;
  },
  limit_per_node: () => {
    const world = new Harness();
    const node = world.node('w1');
    const placement = { maxParallelPerNode: 1 };
    world.submit({ name: 'job', tasks: [echo('x', { placement }), echo('a', { placement })] });
    node.poll(9);
    return world;
  },
  being_stopped: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.cancel('job');
    return world;
  },
  running: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    return world;
  },
  ended: () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('x')] });
    node.complete(node.poll(1)[0]!);
    return world;
  },
};

const why: Readonly<Record<WaitCode, RegExp>> = {
  signal: /^waits for signal yes or no$/,
  child_job: /^waits for job job.c$/,
  dependencies: /^waits for x$/,
  children: /^waits for 2 of its children$/,
  batch: /^is executed with the batch of job first$/,
  execution_key: /^waits for the running task with key echo\/k$/,
  admission: /^waits for admission: 1 query is before it, 1 of 1 run$/,
  run_at: /^starts at 20\d\d-[\d-]+T[\d:.]+Z$/,
  back_off: /^runs again in \d+ ms, after flaky$/,
  sleep: /^sleeps for 700 ms$/,
  no_node_fits: /^no node fits; the nearest, w1, lacks capability cpu is 4, needs >= 8$/,
  no_node_free: /^1 node fits but is busy$/,
  nodes_unavailable: /^1 node fits, but: w1 is draining$/,
  job_limit: /^its job runs 1 of 1 tasks$/,
  concurrency_key: /^concurrency key db runs 1 of 1$/,
  rate_limit:
    /^rate limit api has started 1 of 1 in 60000 ms; the next may start at 20[\d-]+T[\d:.]+Z$/,
  paused: /^executor echo has been paused since 20[\d-]+T[\d:.]+Z: the bank is down$/,
  limit_per_node: /^each node that fits runs 1 of these already$/,
  alone:
    /^runs alone because 2 nodes were lost while running it(, and no node is empty|; node w3 is being drained for it, 1 task left)$/,
  being_stopped: /^node w1 has been asked to stop it$/,
  running: /^runs on node w1$/,
  ended: /^it has succeeded$/,
};

describe('why a task waits', () => {
  test.each(Object.keys(worlds) as WaitCode[])('%s', (code) => {
    const world = worlds[code]();
    const found = world.explain('job', 'a');
    expect(found).toMatchObject({ jobId: 'job', taskId: 'a', code });
    expect(found?.why).toMatch(why[code]);
  });

  test.each(Object.keys(worlds) as WaitCode[])('%s, also after a restart', (code) => {
    const world = worlds[code]();
    world.restart();
    expect(world.explain('job', 'a')?.code).toBe(code);
  });
});

test('a ready task says for how long it has been', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a')] });
  world.advance(1_234);
  expect(world.explain('job', 'a')?.ageMs).toBe(1_234);
});

test('when no node fits, the nearest ones say what they lack', () => {
  const world = worlds.no_node_fits();
  const cpu = { need: 'cpu >= 8', seen: '4', isMet: false };
  expect(world.explain('job', 'a')?.nearest).toEqual([
    {
      nodeId: 'w1',
      lacks: ['capability cpu is 4, needs >= 8'],
      needs: [{ need: "executor 'echo'", seen: 'offered', isMet: true }, cpu],
    },
    {
      nodeId: 'w2',
      lacks: ["executor 'echo'", 'capability cpu is 4, needs >= 8'],
      needs: [{ need: "executor 'echo'", seen: 'missing', isMet: false }, cpu],
    },
  ]);
});

test('without any node it says so', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(world.explain('job', 'a')).toMatchObject({
    code: 'no_node_fits',
    why: 'no node is registered',
  });
});

test('several nodes that fit and are busy are counted', () => {
  const world = new Harness();
  for (const id of ['w1', 'w2']) world.node(id);
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(world.explain('job', 'a')?.why).toBe('2 nodes fit but are busy');
});

test('a node that reported a missing executor is named', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  node.fail(node.poll()[0]!, { failure: 'missing' });
  expect(world.explain('job', 'a')).toMatchObject({
    code: 'nodes_unavailable',
    why: '1 node fits, but: w1 reported a missing executor',
  });
});

test('a long list of dependencies is cut short', () => {
  const world = new Harness();
  const names = echoes(9).map((task) => task['id']);
  world.submit({ name: 'job', tasks: [...echoes(9), echo('a', { dependsOn: names })] });
  expect(world.explain('job', 'a')?.why).toBe('waits for t0, t1, t2, t3, t4, ...');
});

test('a task that was lost twice waits for a node to itself', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a')] });
  for (const id of ['w1', 'w2']) {
    const node = world.node(id);
    node.poll();
    node.die();
  }
  expect(world.explain('job', 'a')?.why).toMatch(/after a loss$/);
});

test('a task that is not in memory cannot be explained', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(world.explain('job', 'zzz')).toBeNull();
  expect(world.explain('nothing', 'a')).toBeNull();
});

describe('a task that waits for a time and for something else', () => {
  test('says how long it waits for a signal', () => {
    const found = waiting({ signals: ['ok'], sleepMs: 700 }).explain('job', 'a');
    expect(found).toMatchObject({
      state: 'delayed',
      code: 'signal',
      why: 'waits for signal ok for another 700 ms',
    });
  });

  test('names the job before the signal', () => {
    const jobs = { c: { tasks: [echo('x')] } };
    expect(waiting({ signals: ['ok'], sleepMs: 700, jobs }).explain('job', 'a')).toMatchObject({
      code: 'child_job',
      why: 'waits for job job.c or signal ok for another 700 ms',
    });
  });
});
