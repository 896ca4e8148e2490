import { expect, test } from 'vitest';
import { HastyClock } from '../../../test/rig/hasty-clock.ts';
import type { PollReply } from '../../scheduler/contract/index.ts';
import { Poller } from './poller.ts';
import { defaultWorkerSettings } from './settings.ts';

test('polls that fail in a row are reported once in ten seconds', async () => {
  const clock = new HastyClock(60_000);
  const lines: string[] = [];
  let polls = 0;
  const poller = new Poller({
    poll: () => {
      polls += 1;
      if (polls === 40) poller.stop();
      return Promise.reject(new Error('nobody there'));
    },
    capacity: () => 1,
    onReply: () => {},
    onOver: () => {},
    quietMs: () => 0,
    clock,
    random: () => 0.5,
    settings: { ...defaultWorkerSettings, retryMs: 500, retryMaxMs: 500 },
    say: (line) => lines.push(line),
  });
  await poller.run();
  expect(polls).toBe(40);
  expect(lines.length).toBe(Math.ceil(clock.monotonicMs() / 10_000));
  expect(lines.length).toBeGreaterThan(1);
  expect(new Set(lines)).toEqual(new Set(['A poll failed and is retried: nobody there']));
});

test('one poll asks for a part of much room, and the next one for more', async () => {
  const asked: number[] = [];
  const rooms = [3, 2_000, 1_500];
  const poller = new Poller({
    poll: ({ capacity }) => {
      asked.push(capacity);
      if (asked.length === rooms.length) poller.stop();
      const assignments = [{}] as unknown as PollReply['assignments'];
      return Promise.resolve({ assignments, orders: { abort: [], drain: false, slowDownMs: 0 } });
    },
    capacity: () => rooms[asked.length] ?? 0,
    onReply: () => {},
    onOver: () => {},
    quietMs: () => 0,
    clock: new HastyClock(60_000),
    random: () => 0.5,
    settings: defaultWorkerSettings,
    say: () => {},
  });
  await poller.run();
  expect(asked.slice(0, 3)).toEqual([3, 500, 500]);
});
