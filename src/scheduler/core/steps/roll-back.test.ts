import { describe, expect, test } from 'vitest';
import { echo } from '../../../../test/rig/harness.ts';
import {
  OUTPUT_GRAPH,
  make,
  outputWorld,
  take,
} from '../../../../test/rig/harness/output-world.ts';

describe('a non-deterministic output', () => {
  test('rolls back all transitive readers when it is recomputed', () => {
    const { world, one, two, three } = outputWorld(
      { a: 'non-deterministic', b: 'deterministic', c: 'deterministic' },
      {
        tasks: [...OUTPUT_GRAPH, echo('e', { dependsOn: ['d'] }), echo('f', { dependsOn: ['a'] })],
      },
    );
    expect(make(one).taskId).toBe('a');
    expect(make(two).taskId).toBe('b');
    const late = take(two);
    expect(late.taskId).toBe('f');
    for (const id of ['c', 'd']) expect(make(two).taskId).toBe(id);
    const last = take(three);
    expect(last.taskId).toBe('e');
    two.release(late);
    // Only `f` has still to read it. But all that has come of it is of no use any more.
    one.die();
    expect(world.states('job')).toEqual({
      a: 'ready',
      b: 'succeeded',
      c: 'blocked',
      d: 'blocked',
      e: 'running',
      f: 'blocked',
    });
    expect(three.complete(last)).toBe('lost');
    for (const id of ['a', 'c', 'f', 'd', 'e']) expect(make(three).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
    expect(world.task('job', 'c')).toMatchObject({ run: 2, losses: 0 });
    expect(world.task('job', 'b')).toMatchObject({ run: 1 });
  });

  test('with running readers: they are stopped, and start again when it is recomputed', () => {
    const { world, one, two, three } = outputWorld({ a: 'non-deterministic', b: 'deterministic' });
    make(one);
    make(three);
    const reader = take(two);
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'ready', b: 'succeeded', c: 'running' });
    expect(two.beat().abort).toEqual([reader.lease]);
    expect(make(three).taskId).toBe('a');
    // What it has read is not what stands now.
    expect(two.complete(reader)).toBe('lost');
    expect(world.task('job', 'c')).toMatchObject({ state: 'ready', run: 1, losses: 0 });
    make(three);
    make(three);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('with those that have ended, whose own readers begin again too', () => {
    const { world, one, two, three } = outputWorld({
      a: 'non-deterministic',
      b: 'deterministic',
      c: 'deterministic',
    });
    make(one);
    make(two);
    make(three);
    const reader = take(three);
    expect(reader.taskId).toBe('d');
    one.die();
    expect(world.states('job')).toMatchObject({ a: 'succeeded', c: 'succeeded', d: 'running' });
    // Now `c` is missed, so `a` is needed, and `a` changes what `d` reads.
    expect(three.loseInput(reader, { c: 1 })).toBe('ok');
    expect(world.states('job')).toEqual({
      a: 'ready',
      b: 'succeeded',
      c: 'blocked',
      d: 'blocked',
    });
    for (const id of ['a', 'c', 'd']) expect(make(two).taskId).toBe(id);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('needs what nobody needed before, wherever that stands', () => {
    const tasks = [
      echo('u'),
      echo('p'),
      echo('d', { dependsOn: ['u', 'p'] }),
      echo('f', { dependsOn: ['u'] }),
      echo('g', { dependsOn: ['d', 'f'] }),
    ];
    const outputs = {
      u: 'non-deterministic',
      p: 'deterministic',
      d: 'deterministic',
      f: 'deterministic',
    } as const;
    const { world, one, two, three } = outputWorld(outputs, { tasks });
    expect(make(one).taskId).toBe('u');
    expect(make(two).taskId).toBe('p');
    const late = take(three);
    expect(late.taskId).toBe('f');
    expect(make(three).taskId).toBe('d');
    three.release(late);
    two.die();
    // `d` has read it.
    expect(world.task('job', 'p').run).toBe(1);
    one.die();
    expect(world.states('job')).toEqual({
      u: 'ready',
      p: 'ready',
      d: 'blocked',
      f: 'blocked',
      g: 'blocked',
    });
  });

  test('also after a fail-over in the middle: the order to stop is not taken for a cancel', () => {
    const { world, one, two, three } = outputWorld({ a: 'non-deterministic', b: 'deterministic' });
    make(one);
    make(three);
    const reader = take(two);
    one.die();
    world.restart();
    expect(two.beat().abort).toEqual([reader.lease]);
    expect(two.abort(reader)).toBe('ok');
    expect(world.states('job')).toMatchObject({ a: 'ready', c: 'blocked' });
    expect(make(three).taskId).toBe('a');
    expect(make(three).taskId).toBe('c');
  });

  test('a cancel of the job is stronger', () => {
    const { world, one, two, three } = outputWorld({ a: 'non-deterministic', b: 'deterministic' });
    make(one);
    make(three);
    const reader = take(two);
    one.die();
    world.cancel('job');
    two.abort(reader);
    expect(world.job('job').state).toBe('cancelled');
  });

  test('and so is the end of a session that was asked to stop it', () => {
    const { world, one, two, three } = outputWorld({ a: 'non-deterministic', b: 'deterministic' });
    make(one);
    make(three);
    take(two);
    one.die();
    two.die();
    expect(world.task('job', 'c')).toMatchObject({ state: 'blocked', losses: 0 });
  });
});
