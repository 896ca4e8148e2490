import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { TaskLog } from '../tasks/executors/index.ts';
import { deferred } from '../kit/index.ts';
import { connect, defineFlow, defineTask } from './millrace.ts';
import type { Client } from './millrace.ts';
import { startServer } from './server.ts';
import type { RunningServer, StartServerOptions } from './server.ts';
import { startWorker } from './worker.ts';
import type { RunningWorker, StartWorkerOptions } from './worker.ts';

const SILENT: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };
const ANY_PORT = { port: 0, grpcPort: 0 };

async function server(options: StartServerOptions = {}): Promise<RunningServer> {
  const data = mkdtempSync(join(tmpdir(), 'millrace-server-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const started = await startServer({ data, ...ANY_PORT, say: () => {}, ...options });
  onTestFinished(() => started.stop());
  return started;
}

async function worker(options: StartWorkerOptions): Promise<RunningWorker> {
  const started = await startWorker({ log: SILENT, ...options });
  onTestFinished(() => started.drain());
  return started;
}

function client(url: string): Client {
  const connected = connect(url);
  onTestFinished(() => connected.close());
  return connected;
}

test('a server, a worker and a client in programs of their own do what a runtime does', async () => {
  const shout = defineTask({ name: 'shout', run: (text: string) => text.toUpperCase() });
  const flow = defineFlow({
    name: 'shouting',
    build: ({ task }) => task('shout', shout, 'hello'),
  });
  const { url, grpc, nodeId } = await server({ nodeId: 'alone' });
  expect(nodeId).toBe('alone');
  const { nodeId: name } = await worker({
    server: grpc,
    flows: [flow],
    slots: 3,
    nodeId: 'w-1',
    capabilities: { voice: 'loud' },
  });
  expect(name).toBe('w-1');
  const connected = client(url);
  await expect((await connected.submit(flow)).result()).resolves.toBe('HELLO');
  const [node] = await connected.nodes();
  expect(node).toMatchObject({ id: 'w-1', slots: 3, capabilities: { voice: 'loud' } });
  expect(node?.executors).toContain('shout');
});

test('a worker that drains finishes what it has and says that it has ended', async () => {
  const begun = deferred();
  const gate = deferred<string>();
  const slow = defineTask({
    name: 'slow',
    run: () => {
      begun.resolve();
      return gate.promise;
    },
  });
  const { url, grpc } = await server();
  const draining = await worker({ server: [grpc], tasks: [slow] });
  const job = await client(url).submit(slow);
  await begun.promise;
  const drained = draining.drain();
  gate.resolve('finished');
  await drained;
  await draining.ended;
  await expect(job.result()).resolves.toBe('finished');
  expect((await client(url).nodes()).map(({ id }) => id)).toEqual([]);
});

test('a failed start says why, and leaves nothing open', async () => {
  const wrongly = { server: 'nowhere', log: SILENT };
  await expect(startWorker(wrongly)).rejects.toMatchObject({ code: 'bad_setting' });
  const lacking = { server: '127.0.0.1:1', settings: { expect: ['train'] }, log: SILENT };
  await expect(startWorker(lacking)).rejects.toMatchObject({ code: 'bad_input' });
  await expect(startServer({ role: 'observer', database: 'nowhere' })).rejects.toMatchObject({
    code: 'bad_setting',
  });
  const open = { ...ANY_PORT, host: '0.0.0.0', data: mkdtempSync(join(tmpdir(), 'millrace-')) };
  onTestFinished(() => rmSync(open.data, { recursive: true, force: true }));
  await expect(startServer(open)).rejects.toMatchObject({ code: 'bad_setting' });
  // The store of the one that failed is closed again.
  const second = await startServer({ data: open.data, ...ANY_PORT, say: () => {} });
  await second.stop();
});
