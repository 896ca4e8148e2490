import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HastyClock } from '../../../../test/rig/hasty-clock.ts';
import { channelTo, failureOf, only, wireNode } from '../../../../test/rig/wire-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { NodeId, SessionId } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { Proxy } from '../../../../test/rig/cluster/proxy.ts';
import { freePort } from '../../../../test/rig/cluster/free-port.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type {
  WorkerService,
  Session,
  WorkerOrders,
} from '../../../scheduler/contract/worker-service.ts';
import { LeaderChannel } from './leader-channel.ts';
import { workerChannel } from './worker-channel.ts';
import { problem, ScriptedServer } from '../../../../test/rig/scripted-server.ts';

const session: Session = { nodeId: 'n1' as NodeId, sessionId: 's1' as SessionId };
const beat = { ...session, held: [], seenPoll: 0, executors: [] };
const orders: WorkerOrders = { abort: [], drain: false, slowDownMs: 0 };
const poll = { ...session, pollNo: 1, capacity: 1, held: [] };

function notLeader(grpc: string | null): () => WorkerService {
  return () => {
    throw new MillraceError({
      code: 'not_leader',
      what: 'Somebody else leads.',
      leader: { nodeId: 'x', url: null, grpc, epoch: 1 },
    });
  };
}

test('a follower redirects the call to the leader, and later calls go there directly', async () => {
  const leader = await wireNode({ workers: { heartbeat: () => Promise.resolve(orders) } });
  let asked = 0;
  const follower = await wireNode({
    workers: () => {
      asked += 1;
      return notLeader(leader.address)();
    },
  });
  const channel = channelTo(follower.address);
  const worker = workerChannel({ channel });
  await worker.heartbeat(beat);
  await worker.heartbeat(beat);
  expect(asked).toBe(1);
  expect(channel.address).toBe(leader.address);
});

test('two nodes that redirect to each other end in an error, not in a loop', async () => {
  const addresses = { a: '', b: '' };
  const a = await wireNode({ workers: () => notLeader(addresses.b)() });
  const b = await wireNode({ workers: () => notLeader(addresses.a)() });
  Object.assign(addresses, { a: a.address, b: b.address });
  const worker = workerChannel({ channel: channelTo(a.address) });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'not_leader' });
});

test('when the leader is gone the other servers are tried until one leads', async () => {
  const clock = new HastyClock(60_000);
  const old = await wireNode({ workers: { heartbeat: () => Promise.resolve(orders) } });
  let leads = false;
  const heir = await wireNode({
    workers: () =>
      leads
        ? only<WorkerService>({ heartbeat: () => Promise.resolve(orders) })
        : notLeader(old.address)(),
  });
  const worker = workerChannel({ channel: channelTo([old.address, heir.address], { clock }) });
  await worker.heartbeat(beat);
  await old.stop(0);
  const codes: string[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    leads = turn === 5;
    await worker.heartbeat(beat).then(
      () => codes.push('ok'),
      (thrown: MillraceError) => codes.push(thrown.code),
    );
  }
  expect(codes[0]).toBe('unreachable');
  expect(codes).toContain('not_leader');
  await expect(worker.heartbeat(beat)).resolves.toEqual(orders);
  expect(clock.pauses.length).toBeGreaterThan(0);
});

test('a leader that comes back at the same address is found again', async () => {
  const port = await freePort();
  const workers = { heartbeat: () => Promise.resolve(orders) };
  const worker = workerChannel({ channel: channelTo(`127.0.0.1:${port}`) });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unreachable' });
  await wireNode({ port, workers });
  await expect(worker.heartbeat(beat)).resolves.toEqual(orders);
});

test('a call that gets no answer ends at its deadline', async () => {
  const { address } = await wireNode({ workers: { leave: () => deferred().promise } });
  const request = { workerId: 'n1', sessionId: 's1' };
  const call = channelTo(address).unary(ControlPlaneService.deregisterWorker, request, {
    deadlineMs: 50,
  });
  await expect(call).rejects.toMatchObject({ code: 'unreachable' });
});

test('a cancelled poll is answered empty', async () => {
  const parked = deferred();
  const hungUp = deferred();
  const { address } = await wireNode({
    workers: {
      poll: (_request, signal) => {
        signal.addEventListener('abort', () => hungUp.resolve());
        parked.resolve();
        return deferred<never>().promise;
      },
    },
  });
  const enough = new AbortController();
  const asked = workerChannel({ channel: channelTo(address) }).poll(poll, enough.signal);
  await parked.promise;
  enough.abort();
  expect(await asked).toEqual({ assignments: [], orders });
  await hungUp.promise;
});

test('a silently dead connection is detected by keep-alive, and a new one works', async () => {
  const parked = deferred();
  const { host, port } = { host: '127.0.0.1', port: 0 };
  const keepAlive = { everyMs: 200, timeoutMs: 500 };
  const server = await wireNode({
    host,
    port,
    workers: {
      poll: () => {
        parked.resolve();
        return deferred<never>().promise;
      },
      heartbeat: () => Promise.resolve(orders),
    },
  });
  const proxy = await Proxy.start({ host, port: server.port });
  const worker = workerChannel({ channel: channelTo(proxy.address, { keepAlive }) });
  const asked = worker.poll(poll, new AbortController().signal);
  await parked.promise;
  proxy.drop();
  // The poll itself would wait for half a minute.
  await expect(asked).rejects.toMatchObject({ code: 'unreachable' });
  proxy.cut();
  await proxy.heal();
  await expect(worker.heartbeat(beat)).resolves.toEqual(orders);
});

test('the server also detects a dead connection, and has the worker checked', async () => {
  const parked = deferred();
  const lost = deferred<Session>();
  const server = await wireNode({
    keepAlive: { everyMs: 200, timeoutMs: 500 },
    workers: {
      poll: () => {
        parked.resolve();
        return deferred<never>().promise;
      },
    },
    onConnectionLost: lost.resolve,
  });
  const proxy = await Proxy.start({ host: '127.0.0.1', port: server.port });
  const asked = workerChannel({ channel: channelTo(proxy.address) }).poll(
    poll,
    new AbortController().signal,
  );
  const ended = failureOf(asked);
  await parked.promise;
  proxy.drop();
  expect(await lost.promise).toEqual(session);
  proxy.cut();
  expect(await ended).toMatchObject({ code: 'unreachable' });
});

test('a connection that closes between two polls is detected as well', async () => {
  const lost = deferred<Session>();
  const server = await wireNode({
    workers: { poll: () => Promise.resolve({ assignments: [], orders }) },
    onConnectionLost: lost.resolve,
  });
  const proxy = await Proxy.start({ host: '127.0.0.1', port: server.port });
  const worker = workerChannel({ channel: channelTo(proxy.address) });
  await worker.poll(poll, new AbortController().signal);
  proxy.cut();
  expect(await lost.promise).toEqual(session);
});

test('a worker that disconnects on purpose is not checked', async () => {
  const parked = deferred();
  const hungUp = deferred();
  const looked: Session[] = [];
  const { address } = await wireNode({
    workers: {
      poll: (_request, signal) => {
        signal.addEventListener('abort', () => hungUp.resolve());
        parked.resolve();
        return deferred<never>().promise;
      },
    },
    onConnectionLost: (who) => looked.push(who),
  });
  const enough = new AbortController();
  const asked = workerChannel({ channel: channelTo(address) }).poll(poll, enough.signal);
  await parked.promise;
  enough.abort();
  await asked;
  await hungUp.promise;
  expect(looked).toEqual([]);
});

test('close aborts running calls and refuses new ones', async () => {
  const parked = deferred();
  const { address } = await wireNode({
    workers: {
      poll: () => {
        parked.resolve();
        return deferred<never>().promise;
      },
    },
  });
  const channel = channelTo(address);
  const worker = workerChannel({ channel });
  const asked = worker.poll(poll, new AbortController().signal);
  await parked.promise;
  channel.close();
  await expect(asked).rejects.toMatchObject({ code: 'shutting_down' });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'shutting_down' });
});

test('an address without gRPC counts as unreachable', async () => {
  const chatterer = createServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  const port = await freePort();
  const listening = deferred();
  chatterer.listen(port, '127.0.0.1', () => listening.resolve());
  onTestFinished(() => void chatterer.close());
  await listening.promise;
  const worker = workerChannel({ channel: channelTo(`127.0.0.1:${port}`) });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unreachable' });
});

test('without any address there is no channel', () => {
  expect(() => new LeaderChannel({ addresses: [], tls: null })).toThrow(/No server address/);
});

const LEADER = 'GET /api/v1/leader';

async function httpServer(): Promise<ScriptedServer> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server.close());
  return server;
}

test.each([
  ['the URL of the HTTP API', (url: string) => url],
  ['HOST:PORT of the HTTP API', (url: string) => url.replace('http://', '')],
])('%s leads to the gRPC address of the leader', async (_, written) => {
  const leader = await wireNode({ workers: { heartbeat: () => Promise.resolve(orders) } });
  const http = await httpServer();
  http.script(LEADER, { json: { nodeId: 'n', url: http.url, grpc: leader.address, epoch: 3 } });
  const channel = channelTo(written(http.url), { token: () => 'secret' });
  const worker = workerChannel({ channel });
  await worker.heartbeat(beat);
  await worker.heartbeat(beat);
  expect(channel.address).toBe(leader.address);
  expect(http.received.filter(({ path }) => path === '/api/v1/leader')).toHaveLength(1);
  expect(http.received.at(-1)?.headers.authorization).toBe('Bearer secret');
});

test('the HTTP API is asked again when the leader it named is gone', async () => {
  const clock = new HastyClock(60_000);
  const old = await wireNode({ workers: { heartbeat: () => Promise.resolve(orders) } });
  const heir = await wireNode({ workers: { heartbeat: () => Promise.resolve(orders) } });
  const http = await httpServer();
  const named = (grpc: string) => ({ json: { nodeId: 'n', url: http.url, grpc, epoch: 3 } });
  http.script(LEADER, named(old.address), named(heir.address));
  const worker = workerChannel({ channel: channelTo(http.url, { clock }) });
  await worker.heartbeat(beat);
  await old.stop(0);
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unreachable' });
  await worker.heartbeat(beat);
});

test('an HTTP API that refuses the token, or knows no leader, is reported as such', async () => {
  const http = await httpServer();
  const worker = workerChannel({ channel: channelTo(http.url) });
  http.script(LEADER, problem(403, { code: 'forbidden', detail: 'No.' }));
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'forbidden' });
  http.script(LEADER, problem(503, { code: 'not_leader', detail: 'None.' }));
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'not_leader' });
  http.script(LEADER, { status: 200, json: { hello: 'world' } });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unreachable' });
});

test('the gRPC port written as a URL is not reached, and the error says how to write it', async () => {
  const { address } = await wireNode({ workers: {} });
  const worker = workerChannel({ channel: channelTo(`http://${address}`) });
  await expect(worker.heartbeat(beat)).rejects.toThrow(
    /over HTTP at http.*write HOST:PORT without/,
  );
});

test('an address where nobody listens is not called a timeout', async () => {
  const worker = workerChannel({ channel: channelTo(`127.0.0.1:${await freePort()}`) });
  await expect(worker.heartbeat(beat)).rejects.toThrow(/No connection could be made/);
});

test('a token for encrypted connections is not sent to an http:// address', async () => {
  const http = await httpServer();
  http.script(LEADER, problem(401, { code: 'unauthenticated', detail: 'Who?' }));
  const channel = channelTo(http.url, { tls: {}, token: () => 'secret' });
  const worker = workerChannel({ channel });
  await expect(worker.heartbeat(beat)).rejects.toMatchObject({ code: 'unauthenticated' });
  expect(http.received[0]?.headers.authorization).toBeUndefined();
});
