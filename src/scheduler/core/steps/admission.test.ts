import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import type { Settings } from '../index.ts';

const TASKS = [echo('plan'), echo('work', { dependsOn: ['plan'] })];

function query(
  world: Harness,
  name: string,
  more: { readonly memoryBytes?: number; readonly priority?: number; readonly plan?: object } = {},
): void {
  const { memoryBytes = 0, priority = 2, plan = {} } = more;
  const tasks = [{ ...TASKS[0], ...plan }, ...TASKS.slice(1)];
  world.submit(
    { name, priority, tasks },
    {
      own: { plan: { admission: { memoryBytes } } },
      seeds: { plan: { state: 'succeeded', result: `"the plan of ${name}"` } },
    },
  );
}

function start(settings: Partial<Settings>): {
  readonly world: Harness;
  readonly node: ScriptedNode;
} {
  const world = new Harness({ settings });
  return { world, node: world.node('w1') };
}

/** The live jobs that were admitted. */
function inside(world: Harness): string[] {
  return world.jobIds().filter((id) => {
    const { plan } = world.states(id);
    return plan === 'succeeded' && world.job(id).finishedAt === null;
  });
}

/** Ends the running query. */
function end(node: ScriptedNode, name: string): void {
  for (const task of node.poll(100)) {
    if (task.jobId === name) node.complete(task);
    else node.release(task);
  }
}

describe('a query is admitted', () => {
  test('at once when there is room, with the result that came with it', () => {
    const { world, node } = start({ maxQueries: 1 });
    query(world, 'q1');
    expect(world.task('q1', 'plan')).toMatchObject({
      state: 'succeeded',
      result: 'the plan of q1',
      attempt: 0,
    });
    expect(node.poll()).toMatchObject([{ jobId: 'q1', taskId: 'work' }]);
  });

  test('when another one has ended, and not before; it is queued meanwhile', () => {
    const { world, node } = start({ maxQueries: 2 });
    for (const name of ['q1', 'q2', 'q3']) query(world, name);
    expect(inside(world)).toEqual(['q1', 'q2']);
    expect(world.job('q3').state).toBe('queued');
    expect(world.states('q3')).toEqual({ plan: 'blocked', work: 'blocked' });
    end(node, 'q2');
    expect(inside(world)).toEqual(['q1', 'q3']);
    expect(world.task('q3', 'plan').result).toBe('the plan of q3');
  });

  test('urgent ones first, then in the order in which they came', () => {
    const { world, node } = start({ maxQueries: 1 });
    query(world, 'q1');
    query(world, 'q2', { priority: 3 });
    query(world, 'q3');
    query(world, 'q4');
    query(world, 'q5', { priority: 0 });
    const order = ['q1', 'q5', 'q3', 'q4', 'q2'];
    for (const name of order) {
      expect(inside(world)).toEqual([name]);
      end(node, name);
    }
    expect(world.state.admissions.running).toBe(0);
  });

  test('as long as the memory suffices; a later job does not overtake the first', () => {
    const { world, node } = start({ queryMemoryBytes: 100 });
    query(world, 'q1', { memoryBytes: 60 });
    query(world, 'q2', { memoryBytes: 50 });
    query(world, 'q3', { memoryBytes: 10 });
    expect(inside(world)).toEqual(['q1']);
    end(node, 'q1');
    expect(inside(world)).toEqual(['q2', 'q3']);
  });

  test('alone when it asks for more than there is', () => {
    const { world, node } = start({ queryMemoryBytes: 100 });
    query(world, 'q1', { memoryBytes: 10 });
    query(world, 'q2', { memoryBytes: 1_000 });
    query(world, 'q3', { memoryBytes: 10 });
    expect(inside(world)).toEqual(['q1']);
    end(node, 'q1');
    expect(inside(world)).toEqual(['q2']);
    end(node, 'q2');
    expect(inside(world)).toEqual(['q3']);
  });
});

describe('while it waits', () => {
  test('it can say who is before it and why', () => {
    const { world } = start({ maxQueries: 1 });
    for (const name of ['q1', 'q2', 'q3']) query(world, name);
    expect(world.explain('q2', 'plan')).toMatchObject({
      code: 'admission',
      position: 0,
      why: 'waits for admission: it is the next, 1 of 1 run',
    });
    expect(world.explain('q3', 'plan')).toMatchObject({ position: 1 });
  });

  test('and for memory, how much there is', () => {
    const { world } = start({ queryMemoryBytes: 100 });
    query(world, 'q1', { memoryBytes: 80 });
    query(world, 'q2', { memoryBytes: 80 });
    expect(world.explain('q2', 'plan')?.why).toBe(
      'waits for admission: it is the next, the 1 that run hold 80 of 100 bytes',
    );
  });

  test('it can be cancelled, and the others move up', () => {
    const { world, node } = start({ queryMemoryBytes: 100 });
    query(world, 'q1', { memoryBytes: 60 });
    query(world, 'q2', { memoryBytes: 90 });
    query(world, 'q3', { memoryBytes: 40 });
    world.cancel('q2');
    expect(world.job('q2').state).toBe('cancelled');
    expect(inside(world)).toEqual(['q1', 'q3']);
    end(node, 'q1');
    expect(world.state.admissions.heldBytes).toBe(40);
  });

  test('it may run out of time, and the others move up', () => {
    const { world } = start({ queryMemoryBytes: 100 });
    query(world, 'q1', { memoryBytes: 60 });
    query(world, 'q2', { memoryBytes: 90, plan: { timeouts: { queueMs: 500 } } });
    query(world, 'q3', { memoryBytes: 40 });
    world.advance(500);
    expect(world.task('q2', 'plan').error).toEqual({
      code: 'queue_timeout',
      message: 'the job waited longer than timeouts.queueMs for admission',
    });
    expect(world.job('q2').state).toBe('failed');
    expect(inside(world)).toEqual(['q1', 'q3']);
  });
});

describe('its place', () => {
  test('is held while a task of it still runs, also when it is being stopped', () => {
    const { world, node } = start({ maxQueries: 1 });
    query(world, 'q1');
    query(world, 'q2');
    const [task] = node.poll();
    world.cancel('q1');
    expect(inside(world)).toEqual(['q1']);
    node.abort(task!);
    expect(inside(world)).toEqual(['q2']);
  });

  test('is known to a new leader, and so is the line', () => {
    const { world, node } = start({ maxQueries: 1 });
    for (const name of ['q1', 'q2', 'q3']) query(world, name);
    world.restart();
    world.tick();
    expect(inside(world)).toEqual(['q1']);
    expect(world.explain('q3', 'plan')).toMatchObject({ position: 1 });
    end(node, 'q1');
    expect(inside(world)).toEqual(['q2']);
  });

  test('is given to nobody while the jobs are still being loaded', () => {
    const { world } = start({ maxQueries: 1 });
    query(world, 'q1');
    query(world, 'q2');
    const [running, waiting] = world.rows.liveImages();
    world.restartWith([[waiting!], [running!]], () => {
      query(world, 'q3');
      expect(world.explain('q3', 'plan')?.why).toMatch(/still loading its jobs/);
    });
    world.tick();
    expect(inside(world)).toEqual(['q1']);
    expect(world.explain('q3', 'plan')).toMatchObject({ position: 1 });
  });

  test('is given when they have been loaded, to whoever came meanwhile', () => {
    const { world } = start({ maxQueries: 1 });
    world.restartWith([[], []], () => query(world, 'q1'));
    expect(inside(world)).toEqual([]);
    world.tick();
    expect(inside(world)).toEqual(['q1']);
  });

  test('must be asked for again by a query that is run again, and its plan is the same', () => {
    const { world, node } = start({ maxQueries: 1 });
    query(world, 'q1');
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    expect(world.job('q1').state).toBe('failed');
    query(world, 'q2');
    world.rerun('q1');
    expect(world.states('q1')).toEqual({ plan: 'blocked', work: 'blocked' });
    end(node, 'q2');
    expect(world.task('q1', 'plan')).toMatchObject({
      state: 'succeeded',
      run: 2,
      result: 'the plan of q1',
    });
    end(node, 'q1');
    expect(world.job('q1').state).toBe('succeeded');
  });
});

test('a query cannot be run again when its plan is not at hand', () => {
  const { world, node } = start({});
  query(world, 'q1');
  node.fail(node.poll()[0]!, { failure: 'fatal' });
  world.rows.seeds = () => new Map();
  const reply = world.rerun('q1');
  expect(reply).toMatchObject({ type: 'refused', error: { code: 'conflict' } });
  expect(world.job('q1').state).toBe('failed');
});
