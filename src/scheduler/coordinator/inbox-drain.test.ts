import { expect, test } from 'vitest';
import { deferred } from '../../kit/index.ts';
import { memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import type { Store } from '../store/index.ts';
import { InboxDrain } from './inbox-drain.ts';

/** A store that says when something came, as the test tells it to. */
function talking(clock: VirtualClock) {
  const heard: { say: () => void; stops: number } = { say: () => {}, stops: 0 };
  const store: Store = Object.assign(memoryStore(clock), {
    onInbox: (fn: () => void) => {
      heard.say = fn;
      fn();
      return Promise.resolve(async () => {
        heard.stops += 1;
      });
    },
  });
  return { store, heard };
}

test('drains at the start, at every notification, and every five seconds', async () => {
  const clock = new VirtualClock();
  const { store, heard } = talking(clock);
  const inbox = new InboxDrain(store, clock);
  let drains = 0;
  inbox.start(async () => {
    drains += 1;
    return 0;
  });
  await clock.advance(0);
  const atStart = drains;
  expect(atStart).toBeGreaterThan(0);
  heard.say();
  await clock.advance(0);
  expect(drains).toBe(atStart + 1);
  await clock.advance(4_999);
  expect(drains).toBe(atStart + 1);
  await clock.advance(1);
  expect(drains).toBe(atStart + 2);
  inbox.stop();
  heard.say();
  await clock.advance(60_000);
  expect(drains).toBe(atStart + 2);
  expect(heard.stops).toBe(1);
});

test('a notification during a drain causes another one', async () => {
  const clock = new VirtualClock();
  const { store, heard } = talking(clock);
  const inbox = new InboxDrain(store, clock);
  const gates = [deferred<number>(), deferred<number>(), deferred<number>()];
  let drains = 0;
  inbox.start(() => {
    drains += 1;
    return gates[drains - 1]?.promise ?? Promise.resolve(0);
  });
  await clock.advance(0);
  gates[0]?.resolve(0);
  await clock.advance(0);
  // The word at the start came while the first drain ran.
  expect(drains).toBe(2);
  heard.say();
  heard.say();
  gates[1]?.resolve(0);
  await clock.advance(0);
  expect(drains).toBe(3);
  gates[2]?.resolve(0);
  await clock.advance(0);
  expect(drains).toBe(3);
  inbox.stop();
});

test('a drain that fails is tried again, later each time', async () => {
  const clock = new VirtualClock();
  const { store } = talking(clock);
  const inbox = new InboxDrain(store, clock);
  const times: number[] = [];
  inbox.start(() => {
    times.push(clock.monotonicMs());
    return times.length < 4 ? Promise.reject(new Error('away')) : Promise.resolve(0);
  });
  await clock.advance(2_000);
  expect(times).toEqual([0, 200, 600, 1_400]);
  await clock.advance(5_000);
  expect(times.at(-1)).toBe(6_400);
  inbox.stop();
});

test('where rows only come with an import it drains once', async () => {
  const clock = new VirtualClock();
  const inbox = new InboxDrain(memoryStore(clock), clock);
  let drains = 0;
  inbox.start(async () => {
    drains += 1;
    return 0;
  });
  await clock.advance(60_000);
  expect(drains).toBe(1);
});

test('a store that cannot listen just now is looked at from time to time', async () => {
  const clock = new VirtualClock();
  const onInbox = () => Promise.reject(new Error('away'));
  const inbox = new InboxDrain(Object.assign(memoryStore(clock), { onInbox }), clock);
  let drains = 0;
  inbox.start(async () => {
    drains += 1;
    return 0;
  });
  await clock.advance(15_000);
  expect(drains).toBe(4);
  inbox.stop();
});
