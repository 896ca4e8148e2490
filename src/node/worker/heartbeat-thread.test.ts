import { BroadcastChannel, Worker as Thread } from 'node:worker_threads';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { lease } from '../../../test/rig/fake-leader.ts';
import type { ThreadCall } from '../../../test/rig/thread-connector.ts';
import type { NodeId, SessionId } from '../../scheduler/core/index.ts';
import { deferred } from '../../kit/index.ts';
import { HeartbeatThread } from './heartbeat-thread.ts';
import { HeldTable } from './held-table.ts';
import type { HeartbeatNews, HeartbeatStart } from './heartbeat.ts';
import { processClock } from './process-clock.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** A real thread whose leader is this test. */
function thread(name: string): { heartbeats: HeartbeatThread; calls: AsyncIterator<ThreadCall> } {
  const module = new URL('../../../test/rig/thread-connector.ts', import.meta.url).href;
  const broken = (error: Error): never => {
    throw error;
  };
  const heartbeats = new HeartbeatThread(
    { module, options: { channel: name, abort: false } },
    broken,
  );
  const line = new BroadcastChannel(name);
  open.push(heartbeats, line);
  return { heartbeats, calls: callsOn(line) };
}

async function* callsOn(line: BroadcastChannel): AsyncGenerator<ThreadCall> {
  let next = deferred<ThreadCall>();
  line.addEventListener('message', (message: unknown) => {
    next.resolve((message as { readonly data: ThreadCall }).data);
  });
  for (;;) {
    const call = await next.promise;
    next = deferred();
    yield call;
  }
}

const start = (table: HeldTable): HeartbeatStart => ({
  session: { nodeId: 'w' as NodeId, sessionId: 's' as SessionId },
  sessionTtlMs: 60_000,
  heartbeatMs: 50,
  executors: ['echo'],
  renewedAtMs: processClock.monotonicMs(),
  abortGraceMs: 60_000,
  stuck: 'end',
  held: table.buffer,
});

async function nextCall(calls: AsyncIterator<ThreadCall>): Promise<ThreadCall> {
  const { value } = (await calls.next()) as { readonly value: ThreadCall };
  return value;
}

test('the thread sends heartbeats with the leases it was given, on the clock of the main thread', async () => {
  const { heartbeats, calls } = thread('millrace-test-beat');
  const news = deferred<HeartbeatNews>();
  const began = processClock.monotonicMs();
  const first = nextCall(calls);
  const table = new HeldTable(1);
  table.hold(lease(1));
  table.seenPoll = 3;
  const beating = heartbeats.startHeartbeat(start(table), news.resolve);
  expect((await first).beat).toMatchObject({ sessionId: 's', held: [lease(1)], seenPoll: 3 });
  const heard = await news.promise;
  expect(heard).toMatchObject({ type: 'answered', no: 1 });
  const sentAtMs = heard.type === 'answered' ? heard.sentAtMs : 0;
  expect(sentAtMs).toBeGreaterThanOrEqual(began + 49);
  expect(sentAtMs).toBeLessThanOrEqual(processClock.monotonicMs());
  beating.stop();
});

test('the thread names the executors that were added last', async () => {
  const { heartbeats, calls } = thread('millrace-test-offer');
  const beating = heartbeats.startHeartbeat(start(new HeldTable(1)), () => {});
  beating.offer(['echo', 'more']);
  expect((await nextCall(calls)).beat).toMatchObject({ executors: ['echo', 'more'] });
  beating.stop();
});

test('while the main thread is blocked the thread continues heartbeats and reports started tasks', async () => {
  const { heartbeats, calls } = thread('millrace-test-blocked');
  const table = new HeldTable(1);
  const first = nextCall(calls);
  const beating = heartbeats.startHeartbeat(start(table), () => {});
  await first;
  table.runs(table.hold(lease(1)), true);
  // Four beats long, in which this thread answers nothing.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  for (;;) {
    const { items } = await nextCall(calls);
    if (items === undefined) continue;
    expect(items).toEqual([{ kind: 'started', lease: lease(1) }]);
    break;
  }
  beating.stop();
});

test('the thread ends by itself, also with a session that was not stopped', async () => {
  const terminate = vi.spyOn(Thread.prototype, 'terminate');
  onTestFinished(() => terminate.mockRestore());
  const { heartbeats, calls } = thread('millrace-test-close');
  const first = nextCall(calls);
  heartbeats.startHeartbeat(start(new HeldTable(1)), () => {});
  await first;
  await heartbeats.close();
  expect(terminate).not.toHaveBeenCalled();
});
