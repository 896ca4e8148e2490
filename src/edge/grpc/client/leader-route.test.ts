import { expect, test } from 'vitest';
import { VirtualClock } from '../../../../test/rig/virtual-clock.ts';
import { LeaderRoute } from './leader-route.ts';

function route(...addresses: string[]): { clock: VirtualClock; route: LeaderRoute } {
  const clock = new VirtualClock();
  return { clock, route: new LeaderRoute({ addresses, clock, random: () => 1 }) };
}

test('the first round is immediate, then delays grow up to three seconds', async () => {
  const { clock, route: way } = route('a', 'b');
  way.silent('a');
  expect([way.address, way.waitMs]).toEqual(['b', 0]);
  const pauses: number[] = [];
  for (let turn = 0; turn < 7; turn += 1) {
    way.silent(way.address);
    pauses.push(way.waitMs);
    await clock.advance(way.waitMs);
    expect(way.waitMs).toBe(0);
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_000, 3_000]);
});

test('delays are jittered down to a half', () => {
  const clock = new VirtualClock();
  const way = new LeaderRoute({ addresses: ['a'], clock, random: () => 0 });
  way.silent('a');
  expect(way.waitMs).toBe(50);
});

test('an answer resets the delay', () => {
  const { route: way } = route('a');
  way.silent('a');
  way.answered('a');
  expect(way.waitMs).toBe(0);
  way.silent('a');
  expect(way.waitMs).toBe(100);
});

test('a hint is followed and remembered', () => {
  const { route: way } = route('a', 'b');
  expect(way.notLeader('a', 'z')).toBe(true);
  way.answered('z');
  expect(way.address).toBe('z');
});

test('an unresponsive leader is forgotten, and for a while not asked again when other nodes name it', async () => {
  const { clock, route: way } = route('a', 'b');
  way.notLeader('a', 'z');
  way.silent('z');
  expect(way.address).toBe('a');
  expect(way.notLeader('a', 'z')).toBe(false);
  expect(way.address).toBe('b');
  await clock.advance(1_000);
  expect(way.notLeader('b', 'z')).toBe(true);
  expect(way.address).toBe('z');
});

test('concurrent failures advance the route only once', () => {
  const { route: way } = route('a', 'b', 'c');
  way.silent('a');
  way.silent('a');
  way.notLeader('a', null);
  expect(way.address).toBe('b');
});

test('a server that names no leader, or itself, is left', () => {
  const { route: way } = route('a', 'b', 'c');
  expect(way.notLeader('a', null)).toBe(false);
  expect(way.notLeader('b', 'b')).toBe(false);
  expect(way.address).toBe('c');
});
