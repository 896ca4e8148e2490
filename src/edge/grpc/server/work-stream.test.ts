import { Client, compressionAlgorithms, credentials, Metadata } from '@grpc/grpc-js';
import type { ClientDuplexStream, ClientOptions, ServiceError } from '@grpc/grpc-js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { channelTo, wireNode } from '../../../../test/rig/wire-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { NodeId, SessionId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import type { PollReply, WorkerService } from '../../../scheduler/contract/worker-service.ts';
import { workerChannel } from '../client/worker-channel.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { WorkRequest } from '../gen/millrace/v1/work.ts';
import type { WorkResponse } from '../gen/millrace/v1/work.ts';
import { WORK_CALLS_MAX, WORK_MESSAGE_BYTES_MAX } from '../limits.ts';
import { errorOfStatus } from '../status.ts';

const session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const orders = { abort: [], drain: false, slowDownMs: 0 };
const beat = { ...session, held: [], seenPoll: 0, executors: [] };
const never = (): Promise<never> => deferred<never>().promise;

/** A worker that writes what it likes. */
class RawStream {
  readonly call: ClientDuplexStream<Buffer, WorkResponse>;
  /** The status that the server ends the stream with. */
  readonly ended: Promise<ServiceError>;
  readonly #answers: WorkResponse[] = [];
  #next = deferred();

  constructor(address: string, token?: string, options: ClientOptions = {}) {
    const client = new Client(address, credentials.createInsecure(), options);
    onTestFinished(() => client.close());
    const { path, responseDeserialize } = ControlPlaneService.work;
    const metadata = new Metadata();
    if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
    this.call = client.makeBidiStreamRequest(
      path,
      (bytes: Buffer) => bytes,
      responseDeserialize,
      metadata,
    );
    onTestFinished(() => this.call.cancel());
    const ended = deferred<ServiceError>();
    this.ended = ended.promise;
    this.call.on('error', ended.resolve);
    this.call.on('data', (answer: WorkResponse) => {
      this.#answers.push(answer);
      this.#next.resolve();
      this.#next = deferred();
    });
  }

  beat(callNo: number, sessionId = 's1'): void {
    const blank = { atMs: 0n, runningTasks: 0, customOperatorCapabilities: [] };
    const lists = { held: [], seenPoll: 0n, executors: [], figures: undefined };
    const value = { workerId: 'n1', sessionId, ...blank, ...lists };
    this.write({ callNo, timeoutMs: 0, call: { $case: 'heartbeat', value } });
  }

  poll(callNo: number): void {
    const value = {
      workerId: 'n1',
      sessionId: 's1',
      capacity: 1,
      pollNo: BigInt(callNo),
      held: [],
      waitMs: 30_000,
      refills: false,
    };
    this.write({ callNo, timeoutMs: 0, call: { $case: 'getTask', value } });
  }

  write(request: WorkRequest): void {
    this.call.write(Buffer.from(WorkRequest.encode(request).finish()));
  }

  async answer(callNo: number): Promise<WorkResponse['outcome']> {
    for (;;) {
      const found = this.#answers.find((answer) => answer.callNo === callNo);
      if (found !== undefined) return found.outcome;
      await this.#next.promise;
    }
  }
}

const obliging = { heartbeat: () => Promise.resolve(orders) };

test.each([
  ['bytes that are no message', Buffer.of(0x0a, 0xff, 0xff), 3, 'bad_input'],
  ['a message without a call', Buffer.of(0x08, 0x01), 3, 'bad_input'],
  ['a call of a kind that nobody knows', Buffer.of(0x08, 0x01, 0x7a, 0x00), 3, 'bad_input'],
  ['a message beyond the limit', Buffer.alloc(WORK_MESSAGE_BYTES_MAX + 1), 8, 'too_large'],
])('%s ends the stream with a reason, and other workers go on', async (_name, bytes, code, is) => {
  const { address } = await wireNode({ workers: obliging });
  const worker = workerChannel({ channel: channelTo(address) });
  await worker.heartbeat(beat);
  const hostile = new RawStream(address);
  hostile.call.write(bytes);
  const ended = await hostile.ended;
  expect(ended.code).toBe(code);
  expect(errorOfStatus(ended, address).code).toBe(is);
  expect(await worker.heartbeat(beat)).toEqual(orders);
});

test.each([
  ['removed', { added: Buffer.alloc(0), removed: [1] }],
  ['added', { added: Buffer.of(1, 2, 3), removed: [] }],
])('a change of held leases that does not add up ends the stream: %s', async (path, change) => {
  const { address } = await wireNode({ workers: { poll: never } });
  const hostile = new RawStream(address);
  hostile.write({
    callNo: 1,
    timeoutMs: 0,
    call: { $case: 'packedPoll', value: { poll: undefined, ...change } },
  });
  const ended = await hostile.ended;
  expect(errorOfStatus(ended, address)).toMatchObject({ code: 'bad_input', path: `/${path}` });
});

test('a call number without an answer cannot be reused', async () => {
  const { address } = await wireNode({ workers: { heartbeat: never } });
  const hostile = new RawStream(address);
  hostile.beat(7);
  hostile.beat(7);
  const ended = await hostile.ended;
  expect(errorOfStatus(ended, address)).toMatchObject({ code: 'bad_input', path: '/call_no' });
});

test('more calls without an answer than allowed end the stream, and its parked polls', async () => {
  let called = 0;
  const calledBack = deferred();
  const poll: WorkerService['poll'] = (_request, signal) => {
    signal.addEventListener('abort', () => {
      called += 1;
      if (called === WORK_CALLS_MAX) calledBack.resolve();
    });
    return never();
  };
  const { address } = await wireNode({ workers: { poll } });
  const hostile = new RawStream(address);
  for (let no = 1; no <= WORK_CALLS_MAX + 1; no += 1) hostile.poll(no);
  const ended = await hostile.ended;
  expect(errorOfStatus(ended, address).code).toBe('overloaded');
  await calledBack.promise;
});

test('unread answers count as unanswered calls', async () => {
  let asked = 0;
  const broken = deferred();
  const what = 'x'.repeat(1_900);
  const { address } = await wireNode({
    workers: {
      poll: (_request, signal) => {
        signal.addEventListener('abort', () => broken.resolve());
        return never();
      },
      heartbeat: () => {
        asked += 1;
        return Promise.reject(new MillraceError({ code: 'conflict', what, why: what, todo: what }));
      },
    },
  });
  const hostile = new RawStream(address);
  hostile.call.pause();
  hostile.poll(0);
  const all = 1_000;
  for (let no = 1; no <= all; no += 1) hostile.beat(no);
  await broken.promise;
  expect(asked).toBeLessThan(all);
  hostile.call.resume();
  expect(await hostile.ended).toMatchObject({ code: 8 });
});

test('a stream carries the calls of one session', async () => {
  const seen: SessionId[] = [];
  const heartbeat: WorkerService['heartbeat'] = ({ sessionId }) => {
    seen.push(sessionId);
    return Promise.resolve(orders);
  };
  const { address } = await wireNode({ workers: { heartbeat } });
  const stream = new RawStream(address);
  stream.beat(1);
  stream.beat(2, 's2');
  stream.beat(3);
  expect(await stream.answer(2)).toMatchObject({ $case: 'error', value: { code: 'bad_input' } });
  expect(await stream.answer(1)).toMatchObject({ $case: 'heartbeat' });
  expect(await stream.answer(3)).toMatchObject({ $case: 'heartbeat' });
  expect(seen).toEqual(['s1', 's1']);
});

test('a cancelled poll is answered at once, and a call that is not there cannot be cancelled', async () => {
  const poll: WorkerService['poll'] = (_request, signal) => {
    const reply = deferred<PollReply>();
    signal.addEventListener('abort', () => reply.resolve({ assignments: [], orders }));
    return reply.promise;
  };
  const { address } = await wireNode({ workers: { ...obliging, poll } });
  const stream = new RawStream(address);
  const cancel = { $case: 'cancel', value: {} } as const;
  stream.write({ callNo: 5, timeoutMs: 0, call: cancel });
  stream.poll(1);
  stream.beat(2);
  expect(await stream.answer(2)).toMatchObject({ $case: 'heartbeat' });
  stream.write({ callNo: 1, timeoutMs: 0, call: cancel });
  expect(await stream.answer(1)).toMatchObject({ $case: 'getTask' });
});

test('a worker that half-closes the stream gets its answers, and then the end', async () => {
  const answered = deferred<typeof orders>();
  const { address } = await wireNode({ workers: { heartbeat: () => answered.promise } });
  const stream = new RawStream(address);
  const over = deferred<string>();
  stream.call.on('end', () => over.resolve('ended'));
  stream.beat(1);
  stream.call.end();
  answered.resolve(orders);
  expect(await stream.answer(1)).toMatchObject({ $case: 'heartbeat' });
  expect(await over.promise).toBe('ended');
});

test('a server that stops ends idle streams at once', async () => {
  const server = await wireNode({ workers: obliging });
  const stream = new RawStream(server.address);
  stream.beat(1);
  await stream.answer(1);
  const over = deferred<string>();
  stream.call.on('end', () => over.resolve('ended'));
  // Nothing but the end of the stream lets this return in time.
  await server.stop(600_000);
  expect(await over.promise).toBe('ended');
});

test('a caller without the role gets no stream, and a revoked token is refused from then on', async () => {
  const valid = new Set(['Bearer good']);
  const heartbeat = vi.fn<WorkerService['heartbeat']>().mockResolvedValue(orders);
  const { address } = await wireNode({
    access: async ({ authorization }) => {
      if (valid.has(authorization ?? '')) return authorization ?? '';
      throw new MillraceError({ code: 'unauthenticated', what: 'Who are you?' });
    },
    workers: { heartbeat },
  });
  const stranger = new RawStream(address, 'bad');
  stranger.beat(1);
  expect((await stranger.ended).code).toBe(16);
  expect(heartbeat).not.toHaveBeenCalled();
  const stream = new RawStream(address, 'good');
  stream.beat(1);
  expect(await stream.answer(1)).toMatchObject({ $case: 'heartbeat' });
  valid.clear();
  stream.beat(2);
  expect((await stream.ended).code).toBe(16);
  expect(heartbeat).toHaveBeenCalledTimes(1);
});

test('a worker may compress what it sends', async () => {
  const { address } = await wireNode({ workers: obliging, access: async () => 'anybody' });
  const { gzip } = compressionAlgorithms;
  const options = { 'grpc.default_compression_algorithm': gzip };
  const stream = new RawStream(address, undefined, options);
  stream.beat(1);
  expect(await stream.answer(1)).toMatchObject({ $case: 'heartbeat' });
});
