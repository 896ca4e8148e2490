import { describe, expect, test } from 'vitest';
import { Harness } from '../../../../test/rig/harness.ts';
import { instant } from '../index.ts';
import type { ScheduleId } from '../index.ts';
import { every, fired, missed } from '../../../../test/rig/harness/schedules.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

const MINUTE_MS = 60_000;

describe('overlap, when the last job still runs', () => {
  test('skip leaves the occurrence out', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap: 'skip' }));
    world.advance(10_000);
    const [a] = node.poll(9);
    world.advance(10_000);
    expect([fired(world), missed(world)]).toEqual([1, 1]);
    node.complete(a!);
    world.advance(10_000);
    expect(fired(world)).toBe(2);
  });

  test('queue waits for the end and then fires', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap: 'queue' }));
    world.advance(10_000);
    const [a] = node.poll(9);
    world.advance(12_000);
    node.beat();
    expect(fired(world)).toBe(1);
    node.complete(a!);
    world.tick();
    expect([fired(world), missed(world)]).toEqual([2, 0]);
    expect(node.poll(9)).toHaveLength(1);
  });

  test('queue is not a misfire, however long the last job takes', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(5 * MINUTE_MS, { overlap: 'queue', misfire: 'skip' }));
    const pass = (ms: number): void => {
      for (let left = ms; left > 0; left -= 10_000) {
        world.advance(10_000);
        node.beat();
      }
    };
    pass(5 * MINUTE_MS);
    const [a] = node.poll(9);
    pass(8 * MINUTE_MS);
    node.complete(a!);
    world.tick();
    expect([fired(world), missed(world)]).toEqual([2, 0]);
  });

  test('cancel stops the running job and starts the next', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap: 'cancel' }));
    world.advance(10_000);
    const [a] = node.poll(9);
    world.advance(10_000);
    expect(fired(world)).toBe(2);
    expect(node.beat().abort).toEqual([a!.lease]);
    node.obey();
    expect(world.job(a!.jobId)).toMatchObject({
      state: 'cancelled',
      error: { message: 'schedule s has started its next run' },
    });
  });
});

describe('overlap, when one that was started by hand has ended and the one before still runs', () => {
  /** The first runs, a second one is started by hand and ends. */
  const between = (overlap: string): { world: Harness; node: ScriptedNode; end: () => void } => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap }));
    world.advance(10_000);
    const [first] = node.poll(9);
    world.changeSchedule('s', 'trigger');
    const [second] = node.poll(9);
    node.complete(second!);
    return { world, node, end: () => void node.complete(first!) };
  };

  test.each([false, true])('skip holds the next one back (leader started anew: %s)', (isNew) => {
    const { world, end } = between('skip');
    if (isNew) world.restart();
    world.advance(10_000);
    expect([fired(world), missed(world)]).toEqual([2, 1]);
    end();
    world.advance(10_000);
    expect(fired(world)).toBe(3);
  });

  test('queue waits for the end of both', () => {
    const { world, end } = between('queue');
    world.advance(10_000);
    expect(fired(world)).toBe(2);
    end();
    world.tick();
    expect([fired(world), missed(world)]).toEqual([3, 0]);
  });

  test('cancel stops it', () => {
    const { world, node } = between('cancel');
    world.advance(10_000);
    node.beat();
    node.obey();
    const states = world.jobIds().map((id) => world.job(id).state);
    expect(states).toEqual(['cancelled', 'succeeded', 'queued']);
  });
});

test.each(['skip', 'queue', 'cancel'] as const)(
  'with %s, jobs of a backfill are not in the way of what is due, and go on',
  (overlap) => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap }));
    const times = [1, 2].map((ago) => instant(world.now - ago * 10_000));
    world.ask({ type: 'backfillSchedule', scheduleId: 's' as ScheduleId, times });
    expect(node.poll(9)).toHaveLength(2);
    const before = fired(world);
    world.advance(10_000);
    node.beat();
    node.obey();
    expect([fired(world) - before, missed(world)]).toEqual([1, 0]);
    expect(world.jobIds().map((id) => world.job(id).state)).toEqual([
      'running',
      'running',
      'queued',
    ]);
  },
);
