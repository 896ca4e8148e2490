import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { make, take } from '../../../../test/rig/harness/output-world.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';
import { GROUPS_EXECUTOR } from '../index.ts';
import type { Decide, TaskId, TaskNo } from '../index.ts';

/** Two makers, a decision about what they have made, three readers of both, and the end. */
const TASKS = [
  echo('a'),
  echo('b'),
  ...['r0', 'r1', 'r2'].map((id) => echo(id, { dependsOn: ['a', 'b', 'groups'] })),
  echo('end', { dependsOn: ['r0', 'r1', 'r2'] }),
  echo('groups', { dependsOn: ['a', 'b'] }),
];
const GROUPS = 6 as TaskNo;

interface World {
  readonly world: Harness;
  readonly one: ScriptedNode;
  readonly two: ScriptedNode;
}

function open(a: 'deterministic' | 'non-deterministic' = 'deterministic'): World {
  const world = new Harness();
  const [one, two] = [world.node('w1'), world.node('w2')] as const;
  const same = { output: 'deterministic' } as const;
  world.submit(
    { name: 'job', tasks: TASKS },
    {
      own: {
        ...{ a: { output: a }, b: same, r0: same, r1: same, r2: same, end: same },
        groups: { executor: GROUPS_EXECUTOR },
      },
    },
  );
  return { world, one, two };
}

/** The first reader reads everything. */
function decide(world: Harness, run = 1, done: readonly string[] = ['r1', 'r2']): void {
  const jobNo = world.job('job').no;
  const event: Decide = {
    type: 'decide',
    ...{ jobNo, taskNo: GROUPS, run },
    decision: {
      result: '[[0,1,2],[],[]]',
      detail: { tasks: 1 },
      done: done.map((taskId) => ({ taskId: taskId as TaskId, result: '"nothing"' })),
    },
  };
  world.send(event);
  world.assign();
}

describe('a task that the leader decides', () => {
  test('goes to no node, and holds up what depends on it until it is decided', () => {
    const { world, one, two } = open();
    make(one);
    make(one);
    expect(one.poll()).toEqual([]);
    expect(world.states('job')).toMatchObject({ groups: 'blocked', r0: 'blocked' });
    expect(world.explain('job', 'groups')?.why).toContain('waits for the leader');
    decide(world);
    expect(world.states('job')).toEqual({
      ...{ a: 'succeeded', b: 'succeeded', groups: 'succeeded' },
      ...{ r0: 'ready', r1: 'succeeded', r2: 'succeeded', end: 'blocked' },
    });
    expect(world.task('job', 'groups').result).toEqual([[0, 1, 2], [], []]);
    expect(world.task('job', 'r1')).toMatchObject({ result: 'nothing', fence: 0, nodeId: null });
    expect(world.log().find(({ detail }) => detail === '{"tasks":1}')?.kind).toBe('completed');
    for (const id of ['r0', 'end']) expect(make(two).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('is decided once, and only while it waits for that', () => {
    const { world, one } = open();
    make(one);
    decide(world);
    expect(world.states('job')).toMatchObject({ groups: 'blocked', r1: 'blocked' });
    make(one);
    decide(world, 2);
    expect(world.states('job')).toMatchObject({ groups: 'blocked' });
    decide(world);
    decide(world, 1, ['r0']);
    expect(world.states('job')).toMatchObject({ r0: 'ready', r1: 'succeeded' });
  });

  test('waits again for what is lost before, and is still undecided for a new leader', () => {
    const { world, one, two } = open();
    make(one);
    make(two);
    one.die();
    decide(world);
    expect(world.states('job')).toMatchObject({ a: 'ready', groups: 'blocked' });
    make(two);
    world.restart();
    expect(world.state.undecided.size).toBe(1);
    decide(world);
    expect(world.states('job')).toMatchObject({ groups: 'succeeded', r0: 'ready' });
  });

  test('is not decided again when an output is recomputed, nor are idle tasks run', () => {
    for (const isRestarted of [false, true]) {
      const { world, one, two } = open();
      make(one);
      make(one);
      decide(world);
      one.die();
      if (isRestarted) world.restart();
      world.advance(1);
      expect(world.states('job')).toMatchObject({
        ...{ a: 'ready', b: 'ready', groups: 'succeeded' },
        ...{ r0: 'blocked', r1: 'succeeded', r2: 'succeeded' },
      });
      for (const id of ['a', 'b', 'r0', 'end']) expect(make(two).taskId).toBe(id);
      expect(world.task('job', 'groups').run).toBe(1);
      expect(world.task('job', 'r1')).toMatchObject({ run: 1, fence: 0 });
      expect(world.job('job').state).toBe('succeeded');
    }
  });

  test('is decided anew with everything else that read a non-deterministic output', () => {
    const { world, one, two } = open('non-deterministic');
    make(one);
    make(two);
    decide(world);
    const reader = take(two);
    expect(reader.taskId).toBe('r0');
    one.die();
    expect(two.complete(reader)).toBe('lost');
    world.advance(1);
    expect(make(two).taskId).toBe('a');
    expect(world.states('job')).toMatchObject({ groups: 'blocked', r1: 'blocked', r2: 'blocked' });
    expect(world.task('job', 'groups').run).toBe(2);
    // A task that has run before answers for itself.
    decide(world, 2, ['r0', 'r1']);
    expect(world.states('job')).toMatchObject({ r0: 'ready', r1: 'succeeded', r2: 'ready' });
    for (const id of ['r0', 'r2', 'end']) expect(make(two).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('fails its job if it cannot be decided, and is over with a job that is cancelled', () => {
    const { world, one } = open();
    make(one);
    make(one);
    const error = { code: 'invariant', message: 'no result' };
    const jobNo = world.job('job').no;
    world.send({ type: 'decide', jobNo, taskNo: GROUPS, run: 1, decision: { error } });
    expect(world.states('job')).toMatchObject({ groups: 'failed', r0: 'skipped' });
    expect(world.job('job').state).toBe('failed');

    const other = open();
    make(other.one);
    make(other.one);
    other.world.cancel('job');
    expect(other.world.states('job')).toMatchObject({ groups: 'cancelled', end: 'cancelled' });
    expect(other.world.state.undecided.size).toBe(0);
  });

  test('cannot be asked for in a document', () => {
    const world = new Harness();
    const tasks = [{ id: 'a', executor: 'sql.groups' }];
    expect(() => world.submit({ name: 'job', tasks })).toThrow(/reserved for fragments of queries/);
  });
});
