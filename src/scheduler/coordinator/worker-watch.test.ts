import { beforeEach, expect, test } from 'vitest';
import type { NodeId, SessionId } from '../core/index.ts';
import { VirtualClock, settled } from '../../../test/rig/virtual-clock.ts';
import { WorkerWatch } from './worker-watch.ts';

const session = { nodeId: 'w' as NodeId, sessionId: 's1' as SessionId };

let isGone: boolean;
let process: string | null;
let looks: number;
let gone: SessionId[];
let watch: WorkerWatch;
let clock: VirtualClock;

beforeEach(() => {
  isGone = false;
  process = 'host:1:1';
  looks = 0;
  gone = [];
  clock = new VirtualClock();
  watch = new WorkerWatch({
    clock,
    overdueMs: 8_000,
    processOf: () => process,
    isProcessGone: () => {
      looks += 1;
      return isGone;
    },
    onGone: ({ sessionId }) => gone.push(sessionId),
  });
});

async function lost(): Promise<SessionId[]> {
  watch.lost(session);
  await settled();
  return gone;
}

test('a worker whose connection dropped and whose process has ended is lost', async () => {
  watch.heard(session);
  isGone = true;
  expect(await lost()).toEqual(['s1']);
});

test('a dropped connection alone proves nothing: the session ends by its TTL', async () => {
  watch.heard(session);
  expect(await lost()).toEqual([]);
  await clock.advance(60_000);
  expect(gone).toEqual([]);
});

test('a process that ends after its connection has dropped is noticed', async () => {
  watch.heard(session);
  expect(await lost()).toEqual([]);
  isGone = true;
  await clock.advance(100);
  expect(gone).toEqual(['s1']);
});

test('a worker that does not say which process it is cannot be proven gone', async () => {
  process = null;
  isGone = true;
  expect(await lost()).toEqual([]);
  expect(looks).toBe(0);
});

test('a session that sends a message while it is checked is not lost', async () => {
  watch.heard(session);
  await lost();
  watch.heard(session);
  isGone = true;
  await clock.advance(2_000);
  expect(gone).toEqual([]);
});

test('a session that stops renewing itself is looked for', async () => {
  watch.heard(session);
  isGone = true;
  for (let beat = 0; beat < 5; beat += 1) {
    watch.renewed(session);
    await clock.advance(7_000);
  }
  expect(gone).toEqual([]);
  await clock.advance(1_000);
  expect(gone).toEqual(['s1']);
});

test('a session that never renews itself is looked for as well', async () => {
  watch.heard(session);
  isGone = true;
  await clock.advance(8_000);
  expect(gone).toEqual(['s1']);
});

test('a session that has replaced another one of its node is looked for as well', async () => {
  watch.renewed({ ...session, sessionId: 's0' as SessionId });
  await clock.advance(1_000);
  watch.heard(session);
  isGone = true;
  await clock.advance(8_000);
  expect(gone).toContain('s1');
});

test('a node that no longer leads checks no workers', async () => {
  watch.heard(session);
  watch.rest();
  isGone = true;
  await clock.advance(60_000);
  expect(looks).toBe(0);
});

test('sessions that renew themselves share one timer', async () => {
  let timers = 0;
  const counting = {
    monotonicMs: () => clock.monotonicMs(),
    after(ms: number, act: () => void) {
      timers += 1;
      return clock.after(ms, act);
    },
  };
  const shared = new WorkerWatch({
    ...{ clock: counting, overdueMs: 8_000, processOf: () => process, isProcessGone: () => true },
    onGone: ({ sessionId }) => gone.push(sessionId),
  });
  const sessions = ['s1', 's2', 's3'].map((id) => ({ ...session, sessionId: id as SessionId }));
  for (let beat = 0; beat < 7; beat += 1) {
    for (const each of sessions) shared.renewed(each);
    await clock.advance(1_000);
  }
  expect(timers).toBe(1);
  shared.renewed(session);
  await clock.advance(7_100);
  expect(gone).toEqual(['s2', 's3']);
});
