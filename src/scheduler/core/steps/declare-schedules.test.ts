import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { declared } from '../../../../test/rig/harness/schedules.ts';
import type { ScheduleId } from '../ids.ts';

const document = { name: 'run', tasks: [echo('a')] };
const daily = { id: 's', everyMs: 1_000, overlap: 'cancel', document };
const fired = (world: Harness): number =>
  world.log().filter(({ kind }) => kind === 'schedule.fired').length;
const row = (world: Harness, id = 's') => world.rows.schedules.get(id as ScheduleId);
const changes = (world: Harness): number =>
  world.log().filter(({ kind }) => kind === 'schedule.changed').length;
const none = { type: 'declared', notes: [] };

const containing = (text: string): unknown => expect.stringContaining(text);

test('a declared schedule is there, once, and declared again it changes nothing', () => {
  const world = new Harness();
  expect(declared(world, 'f', [daily])).toEqual(none);
  world.advance(1_500);
  const before = row(world);
  expect(declared(world, 'f', [daily])).toEqual(none);
  world.restart();
  expect(declared(world, 'f', [daily])).toEqual(none);
  expect([row(world), changes(world), fired(world)]).toEqual([before, 1, 1]);
});

test('another graph of the flow keeps its times, and a version without it removes it', () => {
  const world = new Harness();
  declared(world, 'f', [daily]);
  const { nextAt } = row(world)!;
  world.advance(300);
  declared(world, 'f', [{ ...daily, document: { name: 'other', tasks: [echo('b')] } }]);
  expect(row(world)?.nextAt).toBe(nextAt);
  declared(world, 'f', []);
  expect(row(world)).toBeUndefined();
});

test('a pause stays over registrations, leaders and a version without the schedule', () => {
  const world = new Harness();
  declared(world, 'f', [daily]);
  world.changeSchedule('s', 'pause');
  declared(world, 'f', [{ ...daily, everyMs: 500 }]);
  expect(row(world)?.paused).toBe(true);
  declared(world, 'f', []);
  world.restart();
  // It is not there, and cannot be changed.
  expect(world.changeSchedule('s', 'resume')).toMatchObject({ type: 'refused' });
  declared(world, 'f', [daily]);
  world.advance(5_000);
  expect([row(world)?.paused, fired(world)]).toEqual([true, 0]);
  world.changeSchedule('s', 'resume');
  world.advance(1_500);
  expect(fired(world)).toBe(1);
});

test('one that was deleted comes back with another definition only', () => {
  const world = new Harness();
  declared(world, 'f', [daily]);
  world.changeSchedule('s', 'delete');
  world.restart();
  expect(declared(world, 'f', [daily])).toMatchObject({
    notes: [{ scheduleId: 's', note: containing('It was deleted') }],
  });
  // Another graph is not another definition; a version without it does not make it forgotten.
  declared(world, 'f', [{ ...daily, document: { ...document, name: 'other' } }]);
  declared(world, 'f', []);
  declared(world, 'f', [daily]);
  world.advance(5_000);
  expect(fired(world)).toBe(0);
  expect(world.changeSchedule('s', 'delete')).toMatchObject({ type: 'refused' });
  expect(declared(world, 'f', [{ ...daily, everyMs: 2_000 }])).toEqual(none);
  expect(row(world)?.nextAt).toBe(world.later(2_000));
});

test('one that was deleted can be put by hand, and then belongs to nobody else', () => {
  const world = new Harness();
  declared(world, 'f', [daily]);
  world.changeSchedule('s', 'delete');
  world.schedule('s', { everyMs: 700, document });
  expect(declared(world, 'f', [daily])).toMatchObject({
    notes: [{ scheduleId: 's', note: containing('put by hand') }],
  });
  declared(world, 'f', []);
  expect(row(world)?.nextAt).toBe(world.later(700));
  // Deleted, it makes room for the declared one.
  world.changeSchedule('s', 'delete');
  expect(declared(world, 'f', [daily])).toEqual(none);
});

test('of two flows with the same id the first one has it', () => {
  const world = new Harness();
  declared(world, 'f', [daily]);
  expect(declared(world, 'g', [{ ...daily, everyMs: 500 }])).toMatchObject({
    notes: [{ note: containing('The flow f declares') }],
  });
  declared(world, 'g', []);
  expect(row(world)?.nextAt).toBe(world.later(1_000));
});

test('a flow that is forgotten takes its schedules along, and what is known of deleted ones', () => {
  const world = new Harness();
  declared(world, 'f', [daily, { ...daily, id: 't' }, { ...daily, id: 'u' }]);
  world.changeSchedule('t', 'delete');
  world.changeSchedule('u', 'pause');
  world.schedule('mine', { everyMs: 700, document });
  declared(world, 'f', [], true);
  expect([...world.rows.schedules.keys()]).toEqual(['mine']);
  declared(world, 'f', [daily, { ...daily, id: 't' }, { ...daily, id: 'u' }]);
  expect(row(world, 't')?.nextAt).toBe(world.later(1_000));
  expect(row(world, 'u')?.paused).toBe(false);
});

test('there are no more than the limit, with those that were deleted', () => {
  const world = new Harness({ settings: { schedulesMax: 2 } });
  declared(world, 'f', [daily, { ...daily, id: 't' }]);
  world.changeSchedule('t', 'delete');
  expect(declared(world, 'f', [daily, { ...daily, id: 'u' }])).toMatchObject({
    notes: [{ scheduleId: 'u', note: 'The limit of 2 schedules is reached.' }],
  });
  expect(world.schedule('t', { everyMs: 700, document })).toMatchObject({ type: 'schedule' });
});
