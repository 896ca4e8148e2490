import { expect, test } from 'vitest';
import { channelTo, failureOf, wireNode } from '../../../../test/rig/wire-node.ts';
import { Proxy } from '../../../../test/rig/cluster/proxy.ts';
import { jobNo, MillraceError, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName, NodeId, SessionId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type {
  PollReply,
  WorkerReport,
  WorkerService,
} from '../../../scheduler/contract/worker-service.ts';
import { WORK_CALLS_SENT_MAX, WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import { workerChannel } from './worker-channel.ts';

const session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const orders = { abort: [], drain: false, slowDownMs: 0 };
const beat = { ...session, held: [], seenPoll: 0, executors: [] };
const poll = { ...session, pollNo: 1, capacity: 1, held: [] };
const nothing: PollReply = { assignments: [], orders };
const noSignal = new AbortController().signal;
const lease: LeaseName = {
  jobId: 'j1' as JobId,
  jobNo: jobNo(1),
  taskNo: taskNo(0),
  fence: 1,
  term: 'term' as LeaseName['term'],
};
const completed = (result: string): WorkerReport => ({ kind: 'completed', lease, result });

/** Answers everything at once, but parks polls until they are released or called back. */
function leader(): {
  readonly workers: Partial<WorkerService>;
  readonly parked: Promise<void>;
  readonly calledBack: Promise<void>;
  readonly release: () => void;
} {
  const [parked, calledBack, released] = [deferred(), deferred(), deferred<PollReply>()];
  return {
    workers: {
      heartbeat: () => Promise.resolve(orders),
      report: (_session, items) =>
        Promise.resolve({ verdicts: items.map(() => 'ok' as const), orders }),
      poll: (_request, signal) => {
        parked.resolve();
        signal.addEventListener('abort', () => {
          calledBack.resolve();
          released.resolve(nothing);
        });
        return released.promise;
      },
    },
    parked: parked.promise,
    calledBack: calledBack.promise,
    release: () => released.resolve(nothing),
  };
}

test('polls, reports and heartbeats of a session share one stream, and a parked poll does not block it', async () => {
  const calls: string[] = [];
  const { workers, parked, release } = leader();
  const { address } = await wireNode({ workers, onCall: (method) => calls.push(method) });
  const worker = workerChannel({ channel: channelTo(address) });
  const asked = worker.poll(poll, noSignal);
  await parked;
  expect(await worker.heartbeat(beat)).toEqual(orders);
  expect((await worker.report(session, [completed('1')])).verdicts).toEqual(['ok']);
  release();
  expect(await asked).toEqual(nothing);
  await worker.heartbeat(beat);
  expect(calls).toEqual(['work']);
});

test('a refused call throws its error, and the others on the stream continue', async () => {
  const calls: string[] = [];
  const { workers, parked, release } = leader();
  const refused = new MillraceError({
    code: 'conflict',
    what: 'Not like this.',
    why: 'Because.',
    todo: 'Do otherwise.',
  });
  const heartbeat = (): Promise<never> => Promise.reject(refused);
  const { address } = await wireNode({
    workers: { ...workers, heartbeat },
    onCall: (method) => calls.push(method),
  });
  const worker = workerChannel({ channel: channelTo(address) });
  const asked = worker.poll(poll, noSignal);
  await parked;
  const { code, what, why, todo } = refused;
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code, what, why, todo });
  release();
  expect(await asked).toEqual(nothing);
  expect(calls).toEqual(['work']);
});

test('a server of an earlier version gets unary calls', async () => {
  const calls: string[] = [];
  const { workers, parked, release } = leader();
  const { address } = await wireNode({
    workers,
    hasStreams: false,
    onCall: (method) => calls.push(method),
  });
  const worker = workerChannel({ channel: channelTo(address) });
  const asked = worker.poll(poll, noSignal);
  await parked;
  await worker.heartbeat(beat);
  await worker.report(session, [completed('1')]);
  release();
  expect(await asked).toEqual(nothing);
  expect(calls).toEqual(['getTask', 'heartbeat', 'reportTaskStatus']);
});

test('when the connection breaks, all calls on the stream have failed, and the next one gets a new stream', async () => {
  const calls: string[] = [];
  const { workers, parked } = leader();
  const reported = deferred();
  const report = (): Promise<never> => {
    reported.resolve();
    return deferred<never>().promise;
  };
  const onCall = (method: string): number => calls.push(method);
  const server = await wireNode({ workers: { ...workers, report }, onCall });
  const proxy = await Proxy.start({ host: '127.0.0.1', port: server.port });
  const worker = workerChannel({ channel: channelTo(proxy.address) });
  const failures = [
    failureOf(worker.poll(poll, noSignal)),
    failureOf(worker.report(session, [completed('1')])),
  ];
  await Promise.all([parked, reported.promise]);
  proxy.cut();
  for (const failure of failures) expect(await failure).toMatchObject({ code: 'unreachable' });
  expect(await worker.heartbeat(beat)).toEqual(orders);
  expect(calls).toEqual(['work', 'work']);
});

test('a cancelled poll ends at the leader, and its late answer is ignored', async () => {
  const calls: string[] = [];
  const { workers, parked, calledBack } = leader();
  const { address } = await wireNode({ workers, onCall: (method) => calls.push(method) });
  const worker = workerChannel({ channel: channelTo(address) });
  const enough = new AbortController();
  const asked = worker.poll(poll, enough.signal);
  await parked;
  enough.abort();
  expect(await asked).toEqual(nothing);
  await calledBack;
  expect(await worker.heartbeat(beat)).toEqual(orders);
  expect(await worker.poll({ ...poll, pollNo: 2 }, enough.signal)).toEqual(nothing);
  expect(calls).toEqual(['work']);
});

test('a call that gets no answer on the stream ends at its deadline', async () => {
  const never = (): Promise<never> => deferred<never>().promise;
  const { address } = await wireNode({ workers: { heartbeat: never } });
  const worker = workerChannel({ channel: channelTo(address), heartbeatMs: 1 });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unreachable' });
});

test('a large message is sent as a unary call', async () => {
  const calls: string[] = [];
  const { workers } = leader();
  const { address } = await wireNode({ workers, onCall: (method) => calls.push(method) });
  const worker = workerChannel({ channel: channelTo(address) });
  const result = JSON.stringify('x'.repeat(WORK_MESSAGE_BYTES_MAX));
  expect((await worker.report(session, [completed(result)])).verdicts).toEqual(['ok']);
  await worker.heartbeat(beat);
  expect(calls.toSorted()).toEqual(['reportTaskStatus', 'work']);
});

test('calls beyond the limit of a stream are unary', async () => {
  const calls: string[] = [];
  const begun = deferred();
  const answered = deferred<typeof orders>();
  let waiting = 0;
  const heartbeat = (): Promise<typeof orders> => {
    waiting += 1;
    if (waiting > WORK_CALLS_SENT_MAX) begun.resolve();
    return answered.promise;
  };
  const { address } = await wireNode({
    workers: { heartbeat },
    onCall: (method) => calls.push(method),
  });
  const worker = workerChannel({ channel: channelTo(address) });
  const beats = Array.from({ length: WORK_CALLS_SENT_MAX + 1 }, () => worker.heartbeat(beat));
  await begun.promise;
  answered.resolve(orders);
  expect(await Promise.all(beats)).toHaveLength(WORK_CALLS_SENT_MAX + 1);
  expect(calls.toSorted()).toEqual(['heartbeat', 'work']);
});

test('a new session gets a stream of its own', async () => {
  const calls: string[] = [];
  const { workers } = leader();
  const { address } = await wireNode({ workers, onCall: (method) => calls.push(method) });
  const worker = workerChannel({ channel: channelTo(address) });
  await worker.heartbeat(beat);
  await worker.heartbeat({ ...beat, sessionId: 's2' as SessionId });
  expect(calls).toEqual(['work', 'work']);
});

test('a channel that is closed breaks off what waits on its streams, old ones included', async () => {
  const { workers, parked } = leader();
  const { address } = await wireNode({ workers });
  const channel = channelTo(address);
  const worker = workerChannel({ channel });
  const asked = failureOf(worker.poll(poll, noSignal));
  await parked;
  await worker.heartbeat({ ...beat, sessionId: 's2' as SessionId });
  channel.close();
  expect(await asked).toMatchObject({ code: 'shutting_down' });
});
