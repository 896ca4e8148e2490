import { describe, expect, test } from 'vitest';
import { Harness } from '../../../../test/rig/harness.ts';
import {
  every,
  fired,
  live,
  missed,
  scheduled as document,
} from '../../../../test/rig/harness/schedules.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('timing', () => {
  test('an interval fires again and again', () => {
    const world = new Harness();
    const node = world.node('w1');
    const reply = world.schedule('s', every(HOUR_MS));
    expect(reply).toMatchObject({ type: 'schedule', nextAt: world.later(HOUR_MS), jobId: null });
    live(world, node, 5 * HOUR_MS);
    expect(fired(world)).toBe(5);
    expect(world.jobIds().map((id) => world.job(id))).toMatchObject(
      Array.from({ length: 5 }, () => ({ state: 'succeeded', scheduleId: 's', name: 'nightly' })),
    );
  });

  test('cron asks the calendar', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', { timing: { cron: `every ${HOUR_MS} ms` }, document });
    const first = Math.ceil((world.now + 1) / HOUR_MS) * HOUR_MS;
    live(world, node, 3 * HOUR_MS);
    expect(fired(world)).toBe(3);
    expect(world.job(world.jobIds()[0]!).createdAt).toBe(first);
  });

  test('once fires once, and stays quiet when it is put, paused and resumed again', () => {
    const world = new Harness();
    const node = world.node('w1');
    const once = { timing: { at: world.later(1_000) }, document };
    world.schedule('s', once);
    live(world, node, MINUTE_MS);
    expect(fired(world)).toBe(1);
    expect(world.rows.schedules.get([...world.rows.schedules.keys()][0]!)?.nextAt).toBeNull();
    world.schedule('s', once);
    world.changeSchedule('s', 'pause');
    world.changeSchedule('s', 'resume');
    live(world, node, MINUTE_MS);
    expect(fired(world)).toBe(1);
  });

  test('by hand is not an occurrence: one that has fired does not come again when it is put', () => {
    const world = new Harness();
    const node = world.node('w1');
    const at = world.later(1_000);
    world.schedule('s', { timing: { at }, document });
    live(world, node, MINUTE_MS);
    world.changeSchedule('s', 'trigger');
    world.schedule('s', every(HOUR_MS));
    world.schedule('s', { timing: { at }, document });
    live(world, node, MINUTE_MS);
    expect(fired(world)).toBe(2);
  });

  test('put over and over leaves no trail of timers', () => {
    const world = new Harness();
    for (let at = 0; at < 5_000; at += 1) {
      world.schedule('s', every(HOUR_MS));
      if (at % 500 === 0) world.advance(1);
    }
    expect(world.state.timers.size).toBeLessThan(2_100);
  });

  test('put again without a change keeps its step', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(HOUR_MS));
    for (let at = 0; at < 4; at += 1) {
      live(world, node, HOUR_MS / 2);
      world.schedule('s', every(HOUR_MS, { overlap: 'cancel' }));
    }
    expect(fired(world)).toBe(2);
  });

  test('put again with another timing starts anew', () => {
    const world = new Harness();
    world.schedule('s', every(HOUR_MS));
    world.advance(MINUTE_MS);
    expect(world.schedule('s', every(2 * HOUR_MS))).toMatchObject({
      nextAt: world.later(2 * HOUR_MS),
    });
  });

  test('put again with another timing after the clock was set back goes on after its last time', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', { timing: { cron: `every ${HOUR_MS} ms` }, document });
    live(world, node, 2 * HOUR_MS);
    const last = [...world.rows.schedules.values()][0]!.lastAt!;
    world.now = world.later(last - world.now - MINUTE_MS);
    // The same times in other words.
    const timing = { cron: `every ${HOUR_MS} ms`, zone: 'Europe/Berlin' };
    expect(world.schedule('s', { timing, document })).toMatchObject({ nextAt: last + HOUR_MS });
  });

  test('one that was deleted and created again does not collide with its earlier jobs', () => {
    const world = new Harness();
    const node = world.node('w1');
    const once = { timing: { at: world.later(1_000) }, document };
    for (let at = 0; at < 2; at += 1) {
      world.schedule('s', once);
      live(world, node, 10_000);
      world.changeSchedule('s', 'delete');
    }
    expect(fired(world)).toBe(2);
    expect(new Set(world.jobIds()).size).toBe(2);
  });
});

describe('misfires, when nobody led for a while', () => {
  const asleep = (world: Harness, ms: number): void => {
    world.now = world.later(ms);
    world.restart();
    world.tick();
  };

  test.each([
    ['skip', 0, 24],
    ['once', 1, 23],
  ])('%s fires %i of 24 and counts the others', (misfire, fires, misses) => {
    const world = new Harness();
    world.schedule('s', every(HOUR_MS, { misfire }));
    asleep(world, 24 * HOUR_MS + 30 * MINUTE_MS);
    expect([fired(world), missed(world)]).toEqual([fires, misses]);
    expect(world.rows.schedules.values().next().value?.nextAt).toBe(world.later(30 * MINUTE_MS));
  });

  test('all with overlap queue runs each of them, one after the other', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(HOUR_MS, { misfire: 'all', overlap: 'queue' }));
    asleep(world, 5 * HOUR_MS);
    expect(fired(world)).toBe(1);
    node.restartProcess();
    for (let at = 0; at < 5; at += 1) {
      const tasks = node.poll(9);
      expect(tasks).toHaveLength(1);
      node.complete(tasks[0]!);
      world.tick();
    }
    expect(fired(world)).toBe(5);
    expect(node.poll(9)).toEqual([]);
  });

  test('all runs each of them by default', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(HOUR_MS, { misfire: 'all' }));
    asleep(world, 5 * HOUR_MS);
    node.restartProcess();
    live(world, node, MINUTE_MS);
    expect([fired(world), missed(world)]).toEqual([5, 0]);
  });

  test('how late is late can be set', () => {
    const world = new Harness({ settings: { misfireGraceMs: 2 * HOUR_MS } });
    world.schedule('s', every(HOUR_MS, { misfire: 'skip' }));
    asleep(world, 2 * HOUR_MS + 30 * MINUTE_MS);
    expect([fired(world), missed(world)]).toEqual([1, 1]);
  });

  test('a small delay is not a misfire, such as a fail-over', () => {
    const world = new Harness();
    world.schedule('s', every(HOUR_MS, { misfire: 'skip' }));
    asleep(world, HOUR_MS + 30_000);
    expect([fired(world), missed(world)]).toEqual([1, 0]);
  });
});

describe('by hand', () => {
  test('a paused schedule does not fire, and what passed is not a misfire', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(HOUR_MS));
    world.changeSchedule('s', 'pause');
    live(world, node, 5 * HOUR_MS + MINUTE_MS);
    expect(fired(world)).toBe(0);
    expect(world.changeSchedule('s', 'resume')).toMatchObject({
      nextAt: world.later(HOUR_MS - MINUTE_MS),
    });
    live(world, node, HOUR_MS);
    expect([fired(world), missed(world)]).toEqual([1, 0]);
  });

  test('trigger fires now, as often as asked, and changes nothing about the next time', () => {
    const world = new Harness();
    world.schedule('s', every(HOUR_MS));
    const replies = [1, 2].map(() => world.changeSchedule('s', 'trigger'));
    expect(replies).toMatchObject([
      { type: 'schedule', nextAt: world.later(HOUR_MS) },
      { type: 'schedule', nextAt: world.later(HOUR_MS) },
    ]);
    expect(world.jobIds()).toHaveLength(2);
    expect(world.jobIds()).toEqual(replies.map((reply) => 'jobId' in reply && reply.jobId));
  });

  test('every change is in the log', () => {
    const world = new Harness();
    world.schedule('s', every(HOUR_MS));
    for (const change of ['pause', 'resume', 'delete'] as const) world.changeSchedule('s', change);
    const changes = world.log().filter(({ kind }) => kind === 'schedule.changed');
    expect(changes.map(({ detail }) => JSON.parse(detail ?? '') as unknown)).toEqual(
      ['put', 'pause', 'resume', 'delete'].map((change) => ({ schedule: 's', change })),
    );
  });

  test('a deleted schedule is gone; its jobs stay', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(HOUR_MS));
    live(world, node, HOUR_MS);
    world.changeSchedule('s', 'delete');
    live(world, node, 5 * HOUR_MS);
    expect(world.rows.schedules.size).toBe(0);
    expect(world.jobIds()).toHaveLength(1);
  });

  test('what is not there is refused, and so is one too many', () => {
    const world = new Harness({ settings: { schedulesMax: 1 } });
    expect(world.changeSchedule('s', 'pause')).toMatchObject({ error: { code: 'not_found' } });
    world.schedule('one', every(HOUR_MS));
    expect(world.schedule('two', every(HOUR_MS))).toMatchObject({ error: { code: 'conflict' } });
    expect(world.schedule('one', every(HOUR_MS))).toMatchObject({ type: 'schedule' });
  });
});

describe('over restarts', () => {
  test('every occurrence fires exactly once', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(MINUTE_MS));
    for (let at = 0; at < 60; at += 1) {
      world.restart();
      live(world, node, 30_000);
      world.restart();
      live(world, node, 30_000);
    }
    expect([fired(world), missed(world)]).toEqual([60, 0]);
  });

  test('a job that still runs is remembered for the overlap policy', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.schedule('s', every(10_000, { overlap: 'queue' }));
    world.advance(10_000);
    const [a] = node.poll(9);
    world.advance(10_000);
    world.restart();
    world.tick();
    expect(fired(world)).toBe(1);
    node.complete(a!);
    world.tick();
    expect(fired(world)).toBe(2);
  });

  test('a pause is remembered', () => {
    const world = new Harness();
    world.schedule('s', every(10_000));
    world.changeSchedule('s', 'pause');
    world.restart();
    world.advance(30_000);
    expect(fired(world)).toBe(0);
  });

  test('a schedule that this version cannot read stays in the store and is named in the log', () => {
    const world = new Harness();
    world.schedule('s', every(10_000));
    const [row] = world.rows.schedules.values();
    world.rows.schedules.set(row!.id, { ...row!, spec: '{"timing":{"moon":"full"}}' });
    world.restart();
    world.advance(60_000);
    expect(world.rows.schedules.size).toBe(1);
    expect(world.log().at(-1)).toMatchObject({ kind: 'schedule.missed' });
    expect(world.log().at(-1)?.detail).toContain('"schedule":"s"');
  });
});
