import { beforeEach, expect, test } from 'vitest';
import { calm } from '../../../test/rig/worker-rig.ts';
import { FakeLeader, lease } from '../../../test/rig/fake-leader.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { NodeId, SessionId } from '../../scheduler/core/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { HeartbeatLoop } from './heartbeat-loop.ts';
import { HeldTable } from './held-table.ts';
import { marginMs } from './heartbeat.ts';
import type { HeartbeatNews, HeartbeatStart } from './heartbeat.ts';

let clock: VirtualClock;
let leader: FakeLeader;
let news: HeartbeatNews[];
let stuck: string[];
let table: HeldTable;

beforeEach(() => {
  clock = new VirtualClock();
  leader = new FakeLeader();
  news = [];
  stuck = [];
  table = new HeldTable(2);
});

/** TTL 10 s, heartbeat 2 s, so the margin is 1 s; grace 5 s. */
function loop(stuckHandlers: HeartbeatStart['stuck'] = 'end'): HeartbeatLoop {
  return new HeartbeatLoop({
    leader,
    clock,
    random: () => 0.5,
    start: {
      session: { nodeId: 'w' as NodeId, sessionId: 's' as SessionId },
      sessionTtlMs: 10_000,
      heartbeatMs: 2_000,
      executors: ['echo'],
      renewedAtMs: 0,
      abortGraceMs: 5_000,
      stuck: stuckHandlers,
      held: table.buffer,
    },
    tell: (each) => news.push(each),
    onStuck: (why) => stuck.push(why),
  });
}

const types = (): string[] => news.map(({ type }) => type);

function refuse(code: 'unreachable' | 'unknown_session'): void {
  leader.onHeartbeat = () => Promise.reject(new MillraceError({ code, what: `${code}.` }));
}

test('the margin is a tenth of the TTL, or half a heartbeat where that is more', () => {
  expect(marginMs(20_000, 3_000)).toBe(2_000);
  expect(marginMs(2_000, 600)).toBe(300);
});

test('a heartbeat lists the held leases, and the last poll', async () => {
  const beat = loop();
  const [first] = [1, 2].map((no) => table.hold(lease(no)));
  table.seenPoll = 4;
  await clock.advance(2_000);
  table.leave(first!);
  table.seenPoll = 5;
  await clock.advance(2_000);
  expect(leader.beats).toEqual([
    {
      nodeId: 'w',
      sessionId: 's',
      executors: ['echo'],
      held: [lease(1), lease(2)],
      seenPoll: 4,
    },
    { nodeId: 'w', sessionId: 's', executors: ['echo'], held: [lease(2)], seenPoll: 5 },
  ]);
  beat.stop();
  await clock.advance(20_000);
  expect(leader.beats).toHaveLength(2);
});

test('a heartbeat carries the worker’s last measurements', async () => {
  const beat = loop();
  await clock.advance(2_000);
  const figures = { residentBytes: 7, shuffleBytes: 8, diskFreeBytes: 9, fetchBytesPerSecond: 10 };
  beat.heard(1, figures);
  await clock.advance(2_000);
  expect(leader.beats.map((each) => each.figures)).toEqual([undefined, figures]);
});

test('a failed heartbeat is repeated soon, and the TTL counts from the last accepted one', async () => {
  loop();
  await clock.advance(2_000);
  refuse('unreachable');
  await clock.advance(4_000);
  expect(leader.beats.length).toBeGreaterThan(3);
  expect(types()).toEqual(['answered']);
  // Sent at 2 s, TTL 10 s, margin 1 s.
  await clock.advance(4_999);
  expect(types()).toEqual(['answered']);
  await clock.advance(1);
  expect(types()).toEqual(['answered', 'expired']);
  const beats = leader.beats.length;
  await clock.advance(20_000);
  expect(leader.beats).toHaveLength(beats);
});

test('a slow answer counts from when the heartbeat was sent', async () => {
  let answer: () => void = () => {};
  leader.onHeartbeat = () =>
    new Promise((resolve) => {
      answer = () => resolve(leader.orders);
    });
  loop();
  await clock.advance(2_000);
  const first = answer;
  await clock.advance(6_000);
  first();
  await clock.advance(2_999);
  expect(types()).toEqual(['answered']);
  await clock.advance(1);
  expect(types()).toEqual(['answered', 'expired']);
});

test('heartbeats in flight are limited when the leader never answers', async () => {
  leader.onHeartbeat = () => new Promise(() => {});
  loop();
  await clock.advance(9_000);
  expect(leader.beats).toHaveLength(4);
  expect(types()).toEqual(['expired']);
});

test('the end of a session is reported once', async () => {
  refuse('unknown_session');
  loop();
  await clock.advance(20_000);
  expect(news).toEqual([
    { no: 1, type: 'over', code: 'unknown_session', what: 'unknown_session.' },
  ]);
});

test('the process is ended after the grace period when the main thread does not handle an abort', async () => {
  loop();
  table.runs(table.hold(lease(1)), true);
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  await clock.advance(6_999);
  expect(stuck).toEqual([]);
  await clock.advance(1);
  expect(stuck).toEqual([
    'the leader ordered a task to stop, and a handler has blocked this process for 5000 ms since then',
  ]);
});

test('an abort that was handled, or of an ended task, does not end the process', async () => {
  const beat = loop();
  const row = table.hold(lease(1));
  leader.orders = { abort: [lease(1)], drain: false, slowDownMs: 0 };
  await clock.advance(8_000);
  table.runs(row, true);
  await clock.advance(2_000);
  beat.heard(news.at(-1)!.no);
  leader.orders = { abort: [], drain: false, slowDownMs: 0 };
  await clock.advance(20_000);
  expect(stuck).toEqual([]);
});

test('an expired session ends the process if the main thread is blocked by a handler', async () => {
  refuse('unreachable');
  table.runs(table.hold(lease(1)), true);
  loop();
  await clock.advance(9_000 + 4_999);
  expect(stuck).toEqual([]);
  await clock.advance(1);
  expect(stuck).toHaveLength(1);
  expect(stuck[0]).toContain('the leader did not respond for too long');
});

test('the user’s own process is never ended, however long a handler blocks it', async () => {
  refuse('unreachable');
  table.runs(table.hold(lease(1)), true);
  loop('abandon');
  await clock.advance(1_000_000);
  expect(types()).toEqual(['expired']);
  expect(stuck).toEqual([]);
});

test('heartbeats name added executors once the leader has accepted them', async () => {
  const beat = loop();
  await clock.advance(2_000);
  beat.offer(['echo', 'sleep']);
  await clock.advance(2_000);
  expect(leader.beats.map(({ executors }) => executors)).toEqual([['echo'], ['echo', 'sleep']]);
});

test('it reports started tasks for a blocked main thread', async () => {
  const beat = loop();
  const row = table.hold(lease(1));
  table.runs(row, true);
  await clock.advance(2_000);
  beat.heard(1);
  await clock.advance(4_000);
  expect(leader.reports).toEqual([]);
  await clock.advance(2_000);
  await calm();
  expect(leader.reports).toEqual([[{ kind: 'started', lease: lease(1) }]]);
});
