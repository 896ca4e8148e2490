import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { ServiceDefinition, ServiceError } from '@grpc/grpc-js';
import { service as healthService } from 'grpc-health-check';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../../../../test/rig/certificates.ts';
import { channelTo, failureOf, wireNode } from '../../../../test/rig/wire-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, NodeId, SessionId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { grpcJobs } from '../../../../test/rig/grpc-jobs.ts';
import { remoteReader } from '../client/remote-reader.ts';
import { workerChannel } from '../client/worker-channel.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import { HeartbeatServiceService } from '../gen/millrace/v1/heartbeat.ts';
import { ShuffleServiceService } from '../gen/millrace/v1/shuffle.ts';
import { WorkerServiceService } from '../gen/millrace/v1/worker.ts';
import { REQUEST_BYTES_MAX } from '../limits.ts';
import { authority } from './rpc-server.ts';
import { NEEDED_ROLES } from './access.ts';
import type { AccessCheck, Caller, NeededRole } from './access.ts';

const session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const orders = { abort: [], drain: false, slowDownMs: 0 };
const nobodyLeads = { whoLeads: () => null };
/** How the calls of a worker reach a server of this version, and one of an earlier version. */
const ways = [
  ['on a stream', true],
  ['by itself', false],
] as const;

/** Bytes as they are, in and out. */
async function raw(address: string, path: string, bytes: Uint8Array): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const answer = deferred<Buffer>();
  client.makeUnaryRequest(
    path,
    (value: Uint8Array) => Buffer.from(value),
    (value: Buffer) => value,
    bytes,
    new Metadata(),
    (failure: ServiceError | null, value) =>
      failure === null ? answer.resolve(value ?? Buffer.alloc(0)) : answer.reject(failure),
  );
  return answer.promise;
}

test('a port that is taken is named', async () => {
  const { port } = await wireNode();
  await expect(wireNode({ port })).rejects.toMatchObject({
    code: 'bad_setting',
    what: `Cannot listen on 127.0.0.1:${port}.`,
    why: 'The port is in use by another process.',
  });
  expect(authority('::1', 5)).toBe('[::1]:5');
});

test('bytes that are no message are bad input', async () => {
  const { address } = await wireNode();
  const path = '/millrace.v1.ControlPlane/GetTask';
  const call = raw(address, path, Uint8Array.of(0x0a, 0xff, 0xff, 0xff));
  await expect(call).rejects.toMatchObject({ code: 3 });
  const stream = '/millrace.v1.ControlPlane/WatchEvents';
  await expect(raw(address, stream, Uint8Array.of(0x0a, 0xff))).rejects.toMatchObject({ code: 3 });
});

test('a message beyond the limit is refused, one of the largest document is not', async () => {
  const sizes: number[] = [];
  const { address } = await wireNode({
    jobs: {
      submitAll: (jobs) => {
        sizes.push(...jobs.map(({ document }) => String(document).length));
        return Promise.resolve([{ jobId: 'j' as JobId, state: 'queued', run: 1, changed: true }]);
      },
    },
  });
  const client = grpcJobs(channelTo(address));
  const job = (length: number) => [{ document: 'x'.repeat(length), jobId: 'j' as JobId }];
  const largest = 16 * 1024 * 1024;
  await client.submitAll(job(largest));
  expect(sizes).toEqual([largest]);
  await expect(client.submitAll(job(21 * 1024 * 1024))).rejects.toMatchObject({
    code: 'too_large',
  });
  // Nor does the server rely on what its callers leave undone.
  const path = '/millrace.v1.ControlPlane/SubmitJob';
  const flood = raw(address, path, new Uint8Array(REQUEST_BYTES_MAX + 1));
  await expect(flood).rejects.toMatchObject({ code: 8 });
});

test.each(ways)(
  'a poll %s is parked no longer than it asks for, or than its caller waits',
  async (_way, hasStreams) => {
    const { address } = await wireNode({
      hasStreams,
      workers: {
        poll: (_request, signal) => {
          const answer = deferred<{ assignments: []; orders: typeof orders }>();
          const reply = (): void => answer.resolve({ assignments: [], orders });
          signal.addEventListener('abort', reply);
          if (signal.aborted) reply();
          return answer.promise;
        },
      },
    });
    const request = {
      workerId: 'n',
      sessionId: 's',
      capacity: 1,
      pollNo: 1n,
      held: [],
      refills: false,
    };
    const channel = channelTo(address);
    const ask = (waitMs: number, deadlineMs: number): Promise<unknown> =>
      channel.unary(ControlPlaneService.getTask, { ...request, waitMs }, { deadlineMs });
    // Nothing but the waiting ends these polls: each would hang the test.
    await expect(ask(0, 25_000)).resolves.toMatchObject({ tasks: [] });
    await expect(ask(20, 25_000)).resolves.toMatchObject({ tasks: [] });
    await expect(ask(2 ** 32 - 1, 1_000)).resolves.toMatchObject({ tasks: [] });
  },
);

test.each(ways)(
  'a server that stops answers a poll %s, and refuses the rest',
  async (_way, hasStreams) => {
    const parked = deferred();
    const server = await wireNode({
      hasStreams,
      workers: {
        poll: (_request, signal) => {
          const answer = deferred<{ assignments: []; orders: typeof orders }>();
          signal.addEventListener('abort', () => answer.resolve({ assignments: [], orders }));
          parked.resolve();
          return answer.promise;
        },
      },
    });
    const worker = workerChannel({ channel: channelTo(server.address) });
    const poll = { ...session, pollNo: 1, capacity: 1, held: [] };
    const asked = worker.poll(poll, new AbortController().signal);
    await parked.promise;
    await server.stop();
    expect(await asked).toEqual({ assignments: [], orders });
    await server.stop();
  },
);

test('a call that does not end delays a stop only up to its grace period', async () => {
  const begun = deferred();
  const server = await wireNode({
    workers: {
      leave: () => {
        begun.resolve();
        return deferred().promise;
      },
    },
  });
  const leaving = workerChannel({ channel: channelTo(server.address) }).leave(session);
  const failed = failureOf(leaving);
  await begun.promise;
  await server.stop(10);
  expect(await failed).toMatchObject({ code: 'unreachable' });
});

test('a node that serves no queries says so', async () => {
  const { address } = await wireNode();
  for (const path of [
    '/millrace.v1.ControlPlane/SubmitQuery',
    '/millrace.v1.ControlPlane/GetQueryStatus',
    '/millrace.v1.ControlPlane/CancelQuery',
    '/millrace.v1.ControlPlane/FetchQueryResults',
  ]) {
    await expect(raw(address, path, new Uint8Array())).rejects.toMatchObject({
      code: 12,
      details: expect.stringContaining('does not serve queries') as string,
    });
  }
});

test('an internal error is reported without its details', async () => {
  const { address } = await wireNode({
    reader: { nodes: () => Promise.reject(new TypeError('the inside')) },
  });
  const failed = remoteReader(channelTo(address)).nodes();
  const error = await failed.then(
    () => expect.fail('it answered'),
    (thrown: MillraceError) => thrown,
  );
  expect(error.code).toBe('invariant');
  expect(error.message).not.toContain('the inside');
});

test.each([
  ['longer than a header', '\u{1F600}'.repeat(50_000)],
  ['half a character', `x\uD800\n\u0000`],
])('an error with a text of %s arrives', async (_name, text) => {
  const leader = { nodeId: 'n', url: text.slice(0, 200), grpc: null, epoch: 1 };
  const error = new MillraceError({
    code: 'conflict',
    what: text,
    why: text,
    todo: text,
    path: text,
    leader,
  });
  const { address } = await wireNode({ reader: { nodes: () => Promise.reject(error) } });
  const call = remoteReader(channelTo(address)).nodes();
  await expect(call).rejects.toMatchObject({ code: 'conflict' });
});

test('health is reported as it is set, for all and for one', async () => {
  const server = await wireNode();
  const channel = channelTo(server.address);
  const check = async (service: string): Promise<unknown> => {
    const method = healthService['Check']!;
    const answer = await channel.unary(method, { service }, { deadlineMs: 5_000 });
    return (answer as { status: string }).status;
  };
  expect(await check('')).toBe('NOT_SERVING');
  server.setServing(true);
  expect(await check('')).toBe('SERVING');
  expect(await check('millrace.v1.ControlPlane')).toBe('SERVING');
  server.setServing(false, 'millrace.v1.ControlPlane');
  expect(await check('millrace.v1.ControlPlane')).toBe('NOT_SERVING');
  expect(await check('millrace.v1.HeartbeatService')).toBe('SERVING');
});

test('every method has a row in the table of roles', () => {
  const services: readonly ServiceDefinition[] = [
    ControlPlaneService,
    HeartbeatServiceService,
    ShuffleServiceService,
    WorkerServiceService,
    healthService,
  ];
  const paths = services.flatMap((service) => Object.values(service).map(({ path }) => path));
  const reflection = [...NEEDED_ROLES.keys()].filter((path) => path.includes('reflection'));
  expect([...NEEDED_ROLES.keys()].toSorted()).toEqual([...paths, ...reflection].toSorted());
});

test('callers are authorised by their token and the role that the method needs', async () => {
  const seen: [string | null, NeededRole][] = [];
  const access: AccessCheck = async ({ authorization }, needed) => {
    seen.push([authorization, needed]);
    if (authorization === null) {
      throw new MillraceError({ code: 'unauthenticated', what: 'Who are you?' });
    }
    if (authorization !== `Bearer ${needed}`) {
      throw new MillraceError({ code: 'forbidden', what: 'Not with this token.' });
    }
    return authorization;
  };
  const server = await wireNode({
    access,
    ...nobodyLeads,
    workers: { leave: () => Promise.resolve() },
  });
  const as = (token: string | null) => channelTo(server.address, { token: () => token });
  const leave = (token: string | null): Promise<void> =>
    workerChannel({ channel: as(token) }).leave(session);
  await leave('worker');
  await expect(leave('read')).rejects.toMatchObject({ code: 'forbidden' });
  await expect(leave(null)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(await remoteReader(as('read')).leader()).toBeNull();
  await expect(grpcJobs(as('read')).cancel('j' as JobId, '')).rejects.toMatchObject({
    code: 'forbidden',
  });
  expect(seen.at(-1)).toEqual(['Bearer read', 'submit']);
  const method = healthService['Check']!;
  await as(null).unary(method, { service: '' }, { deadlineMs: 5_000 });
  expect(seen).toHaveLength(5);
});

test('with TLS both sides are authenticated', async () => {
  const ca = await makeAuthority();
  const callers: Caller[] = [];
  const server = await wireNode({
    tls: { ...(await makeCertificate(ca, 'server')), ca: ca.cert },
    access: async (caller) => {
      callers.push(caller);
      return '';
    },
  });
  const own = await makeCertificate(ca, 'worker');
  const trusted = channelTo(server.address, { tls: { ...own, ca: ca.cert } });
  expect(await remoteReader(trusted).leader()).toBeNull();
  expect(callers[0]?.peer).toMatchObject({
    remoteAddress: '127.0.0.1',
    localAddress: '127.0.0.1',
    localPort: server.port,
  });
  const stranger = channelTo(server.address, { tls: { ca: ca.cert } });
  await expect(remoteReader(stranger).leader()).rejects.toMatchObject({ code: 'unreachable' });
});

test('all calls of one connection have the same peer', async () => {
  const connections: object[] = [];
  const { address } = await wireNode({
    access: async ({ peer }) => {
      connections.push(peer.connection);
      return '';
    },
  });
  const first = channelTo(address);
  await remoteReader(first).leader();
  await remoteReader(first).leader();
  await remoteReader(channelTo(address)).leader();
  expect(connections[1]).toBe(connections[0]);
  expect(connections[2]).not.toBe(connections[0]);
});

test.each(ways)(
  'a session belongs to the credential that opened it, calling %s',
  async (_way, hasStreams) => {
    const known = new Set<SessionId>();
    const speak = ({ sessionId }: { readonly sessionId: SessionId }) => {
      if (!known.has(sessionId)) throw new MillraceError({ code: 'unknown_session', what: 'Who?' });
    };
    const { address } = await wireNode({
      access: async ({ authorization }) => authorization ?? '',
      ...nobodyLeads,
      hasStreams,
      workers: {
        register: async (offer) => {
          known.add(offer.sessionId);
          return { sessionTtlMs: 1, heartbeatMs: 1, sessionName: offer.sessionId };
        },
        heartbeat: async (beat) => (speak(beat), orders),
        poll: async (request) => (speak(request), { assignments: [], orders }),
        report: async (given) => (speak(given), { verdicts: [], orders }),
        leave: async (given) => speak(given),
      },
    });
    const as = (token: string) =>
      workerChannel({ channel: channelTo(address, { token: () => token }) });
    const offer = {
      id: session.nodeId,
      sessionId: session.sessionId,
      slots: 1,
      prefetch: 0,
      executors: [],
      capabilities: {},
      address: null,
      version: '1',
    };
    const registered = await as('one').register(offer, {
      protocol: 1,
      millrace: '1',
      duckdb: null,
    });
    // What others see of it does not let them speak for it.
    expect(registered.sessionName).toMatch(/^[0-9a-f]{32}$/);
    const calls = (token: string, sessionId: SessionId): readonly (() => Promise<unknown>)[] => {
      const named = { ...session, sessionId };
      const worker = as(token);
      return [
        () => worker.heartbeat({ ...named, held: [], seenPoll: 0, executors: [] }),
        () =>
          worker.poll(
            { ...named, pollNo: 1, capacity: 1, held: [], waits: false },
            new AbortController().signal,
          ),
        () =>
          channelTo(address, { token: () => token }).unary(
            ControlPlaneService.reportTaskStatus,
            { workerId: named.nodeId, sessionId, reports: [] },
            { deadlineMs: 5_000 },
          ),
        () => worker.leave(named),
      ];
    };
    for (const call of calls('one', session.sessionId)) await call();
    for (const [token, id] of [
      ['another', session.sessionId],
      ['one', registered.sessionName],
      ['another', registered.sessionName],
    ] as const) {
      for (const call of calls(token, id as SessionId)) {
        await expect(call()).rejects.toMatchObject({ code: 'unknown_session' });
      }
    }
  },
);

test('a key that does not fit its certificate stops the start', async () => {
  await expect(wireNode({ tls: { cert: 'no', key: 'no' } })).rejects.toMatchObject({
    code: 'bad_setting',
  });
});
