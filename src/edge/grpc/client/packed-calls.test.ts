import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Proxy } from '../../../../test/rig/cluster/proxy.ts';
import { channelTo, failureOf, wireNode } from '../../../../test/rig/wire-node.ts';
import { instant, jobNo, taskNo } from '../../../scheduler/core/index.ts';
import type { JobId, LeaseName, NodeId, SessionId, TaskId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { ReadyAssignment, WorkerReport } from '../../../scheduler/contract/index.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { WorkRequest } from '../gen/millrace/v1/work.ts';
import type { WorkResponse } from '../gen/millrace/v1/work.ts';
import { WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import { workerChannel } from './worker-channel.ts';

const session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const orders = { abort: [], drain: false, slowDownMs: 0 };
const noSignal = new AbortController().signal;
const leaseOf = (no: number): LeaseName => ({
  jobId: `job-${no}` as JobId,
  jobNo: jobNo(no),
  taskNo: taskNo(0),
  fence: no,
  term: 'term' as LeaseName['term'],
});
const [a, b, c] = [leaseOf(1), leaseOf(2), leaseOf(3)];
const pollOf = (pollNo: number, ...held: LeaseName[]) => ({
  ...session,
  pollNo,
  capacity: 1,
  held,
});

const plain = {
  lease: a,
  jobId: a.jobId,
  taskId: 't' as TaskId,
  executor: 'echo',
  run: 1,
  attempt: 1,
  runMs: 1_000,
  resumed: false,
  input: '{"a":1}',
  idempotencyKey: null,
  steps: [],
  assignedAt: instant(7),
  children: [],
  hasChildren: false,
  scheduledAt: null,
  trace: null,
} satisfies ReadyAssignment;
const assignments = [plain, { ...plain, lease: b, jobId: b.jobId, idempotencyKey: 'key' }];

/** The calls that reach servers of this process, by their forms. */
function callsSeen(): string[] {
  const seen: string[] = [];
  const decode = WorkRequest.decode.bind(WorkRequest);
  const spy = vi.spyOn(WorkRequest, 'decode').mockImplementation((...given) => {
    const request = decode(...given);
    seen.push(request.call?.$case ?? 'none');
    return request;
  });
  onTestFinished(() => spy.mockRestore());
  return seen;
}

test('after the first answer polls and reports are packed, and say the same', async () => {
  const seen = callsSeen();
  const held: (readonly LeaseName[])[] = [];
  const reports: WorkerReport[] = [];
  const { address } = await wireNode({
    workers: {
      poll: (request) => {
        held.push(request.held);
        return Promise.resolve({ assignments, orders });
      },
      report: (_session, items) => {
        reports.push(...items);
        return Promise.resolve({ verdicts: items.map(() => 'ok' as const), orders });
      },
    },
  });
  const worker = workerChannel({ channel: channelTo(address) });
  const lists = [[], [a, b], [b, c], [b, c], [], [a]];
  for (const [at, list] of lists.entries()) {
    expect(await worker.poll(pollOf(at + 1, ...list), noSignal)).toEqual({ assignments, orders });
  }
  expect(held).toEqual(lists);
  const items: readonly WorkerReport[] = [
    { kind: 'started', lease: a },
    { kind: 'completed', lease: a, result: '{"ä":1}' },
    { kind: 'aborted', lease: b },
  ];
  expect((await worker.report(session, items)).verdicts).toEqual(['ok', 'ok', 'ok']);
  expect(reports).toEqual(items);
  const polls = Array.from({ length: lists.length - 1 }, () => 'packedPoll');
  expect(seen).toEqual(['getTask', ...polls, 'packedReports']);
});

test('a new stream starts with all held leases, and those of a refused poll count as sent', async () => {
  const held: (readonly LeaseName[])[] = [];
  const parked = deferred();
  let isRefused = false;
  const server = await wireNode({
    workers: {
      poll: (request) => {
        held.push(request.held.toSorted((one, other) => one.jobNo - other.jobNo));
        if (isRefused) return Promise.reject(new Error('not now'));
        if (request.pollNo !== 4) return Promise.resolve({ assignments: [], orders });
        parked.resolve();
        return deferred<never>().promise;
      },
    },
  });
  const proxy = await Proxy.start({ host: '127.0.0.1', port: server.port });
  const worker = workerChannel({ channel: channelTo(proxy.address) });
  await worker.poll(pollOf(1), noSignal);
  isRefused = true;
  await failureOf(worker.poll(pollOf(2, a, b), noSignal));
  isRefused = false;
  await worker.poll(pollOf(3, b), noSignal);
  const broken = failureOf(worker.poll(pollOf(4, b, c), noSignal));
  await parked.promise;
  proxy.cut();
  expect(await broken).toMatchObject({ code: 'unreachable' });
  await worker.poll(pollOf(5, b, c), noSignal);
  await worker.poll(pollOf(6, c), noSignal);
  expect(held).toEqual([[], [a, b], [b], [b, c], [b, c], [c]]);
});

test('a report that is too large for the stream is sent as a unary call', async () => {
  const seen = callsSeen();
  const sizes: number[] = [];
  const { address } = await wireNode({
    workers: {
      heartbeat: () => Promise.resolve(orders),
      report: (_session, items) => {
        for (const item of items) sizes.push(item.kind === 'completed' ? item.result!.length : 0);
        return Promise.resolve({ verdicts: items.map(() => 'ok' as const), orders });
      },
    },
  });
  const worker = workerChannel({ channel: channelTo(address) });
  await worker.heartbeat({ ...session, held: [], seenPoll: 0, executors: [] });
  const result = JSON.stringify('x'.repeat(WORK_MESSAGE_BYTES_MAX));
  await worker.report(session, [{ kind: 'completed', lease: a, result }]);
  expect(sizes).toEqual([result.length]);
  expect(seen).toEqual(['heartbeat']);
});

test('a server that has not announced packed calls gets none', async () => {
  const cases: string[] = [];
  const server = new Server();
  const { work } = ControlPlaneService;
  server.addService(
    { work },
    {
      work: (call: ServerDuplexStream<WorkRequest, WorkResponse>) => {
        call.on('data', (request: WorkRequest) => {
          cases.push(request.call?.$case ?? 'none');
          const value = { tasks: [], orders: { ...orders, fetchWindowBytes: 0n, fetchAhead: [] } };
          call.write({ callNo: request.callNo, outcome: { $case: 'getTask', value } });
        });
        call.on('end', () => call.end());
      },
    },
  );
  const port = deferred<number>();
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_fault, bound) =>
    port.resolve(bound),
  );
  onTestFinished(() => server.forceShutdown());
  const worker = workerChannel({ channel: channelTo(`127.0.0.1:${await port.promise}`) });
  for (let no = 1; no <= 3; no += 1) await worker.poll(pollOf(no, a), noSignal);
  expect(cases).toEqual(['getTask', 'getTask', 'getTask']);
});
