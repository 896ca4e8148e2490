import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { instant, upcomingOccurrences } from '../index.ts';

const document = { name: 'run', tasks: [echo('a')] };
const fired = (world: Harness): number =>
  world.log().filter(({ kind }) => kind === 'schedule.fired').length;
const row = (world: Harness) => world.rows.schedules.get('s' as never)!;
const put = (world: Harness, more: object): unknown =>
  world.schedule('s', { everyMs: 1_000, overlap: 'cancel', document, ...more });

describe('a schedule with a number of runs', () => {
  test('ends after so many, and a run by hand is none of them', () => {
    const world = new Harness();
    put(world, { maxRuns: 2 });
    world.advance(1_000);
    world.changeSchedule('s', 'trigger');
    expect(row(world).nextAt).not.toBeNull();
    world.advance(1_000);
    expect(row(world).nextAt).toBeNull();
    world.advance(10_000);
    expect(fired(world)).toBe(3);
    const changes = world.log().filter(({ kind }) => kind === 'schedule.changed');
    expect(changes.at(-1)?.detail).toBe('{"schedule":"s","change":"end"}');
  });

  test('counts over a change of the leader and when it is put again', () => {
    const world = new Harness();
    put(world, { maxRuns: 3 });
    world.advance(1_000);
    world.restart();
    world.advance(1_000);
    put(world, { maxRuns: 3 });
    world.advance(10_000);
    expect(fired(world)).toBe(3);
    expect(JSON.parse(row(world).spec)).toMatchObject({ maxRuns: 3, runs: 3 });
    // What it says of itself may be sent back.
    put(world, { maxRuns: 3, runs: 0 });
    world.advance(10_000);
    expect(fired(world)).toBe(3);
  });

  test.each([false, true])('counts from when it has one, with a new leader: %s', (isRestarted) => {
    const world = new Harness();
    put(world, {});
    world.advance(5_000);
    if (isRestarted) world.restart();
    put(world, { maxRuns: 2 });
    world.advance(10_000);
    expect(fired(world)).toBe(7);
  });

  test('goes on if it is given more, and only then', () => {
    const world = new Harness();
    put(world, { maxRuns: 1 });
    world.advance(5_000);
    put(world, { maxRuns: 2 });
    world.advance(5_000);
    expect(fired(world)).toBe(2);
    put(world, {});
    world.advance(2_000);
    expect(fired(world)).toBe(4);
  });

  test('makes up for no more than it may run', () => {
    const world = new Harness();
    const node = world.node('w1');
    put(world, { maxRuns: 2, misfire: 'all', overlap: 'queue' });
    world.advance(10_000);
    for (let no = 0; no < 5; no += 1) {
      for (const task of node.poll(5)) node.complete(task);
      world.advance(1_000);
      node.beat();
    }
    expect(fired(world)).toBe(2);
  });
});

describe('a schedule with a last time', () => {
  test('runs at that time and not after it', () => {
    const world = new Harness();
    put(world, { endAt: world.now + 2_000 });
    world.advance(2_000);
    expect(fired(world)).toBe(2);
    expect(row(world).nextAt).toBeNull();
    world.changeSchedule('s', 'pause');
    world.changeSchedule('s', 'resume');
    world.advance(5_000);
    expect(fired(world)).toBe(2);
  });

  test('does not make up for times after it, however late it is', () => {
    const world = new Harness();
    put(world, { endAt: world.now + 1_500, misfire: 'all' });
    world.changeSchedule('s', 'pause');
    world.changeSchedule('s', 'resume');
    // Nobody leads for a while.
    world.state.isComplete = false;
    world.advance(60_000);
    world.restart();
    world.advance(1);
    expect(fired(world)).toBe(1);
    expect(row(world).nextAt).toBeNull();
  });

  test('that has passed never runs; a later one makes it run', () => {
    const world = new Harness();
    put(world, { endAt: world.now - 1 });
    world.advance(5_000);
    expect(fired(world)).toBe(0);
    put(world, { endAt: world.now + 1_000 });
    world.advance(5_000);
    expect(fired(world)).toBe(1);
  });
});

test('the next occurrences end with the schedule', () => {
  const none = { next: () => null, check: () => null };
  const timing = { everyMs: 100 };
  const from = instant(50);
  expect(upcomingOccurrences({ timing, endAt: instant(150) }, from, 5, none)).toEqual([50, 150]);
  expect(upcomingOccurrences({ timing, maxRuns: 4 }, from, 5, none, 2)).toEqual([50, 150]);
  expect(upcomingOccurrences({ timing, maxRuns: 2 }, from, 5, none, 2)).toEqual([]);
});

test.each([
  { maxRuns: 0 },
  { maxRuns: 1.5 },
  { maxRuns: '2' },
  { endAt: 'soon' },
  { endAt: null },
  { runs: -1 },
])('%j is refused', (more) => {
  const [name = ''] = Object.keys(more);
  expect(() => put(new Harness(), more)).toThrow(name);
});
