import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { RefusedCall, TestClient } from './client.ts';

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => void;

interface FakeNode {
  readonly url: string;
  readonly asked: string[];
}

async function fakeNode(handle: Handle): Promise<FakeNode> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const chunks: string[] = [];
    request.on('data', (chunk) => chunks.push(String(chunk)));
    request.on('end', () => {
      asked.push(`${request.method} ${request.url}`);
      handle(request, response, chunks.join(''));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, asked };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const clientOf = (nodes: readonly { url: string }[], patienceMs = 5_000): TestClient =>
  new TestClient(() => nodes.map(({ url }) => url), { patienceMs, silenceMs: 200 });

const QUIET: Handle = () => {};

test('a submission follows the leader that a node names, and is remembered', async () => {
  const leader = await fakeNode((_, response) =>
    json(response, 201, { id: 'j1', state: 'queued' }),
  );
  const follower = await fakeNode((_, response) =>
    json(response, 503, { code: 'not_leader', leader: { nodeId: 'n', url: leader.url, epoch: 2 } }),
  );
  const client = clientOf([follower]);
  await client.submit({ tasks: [] });
  await client.submit({ tasks: [] });
  // Once known, the leader is asked first.
  expect(follower.asked).toHaveLength(1);
  expect(leader.asked).toHaveLength(2);
  expect([...client.acknowledged]).toEqual(['j1']);
});

test('a node that is gone or silent is passed over, with the same key at every try', async () => {
  const keys: string[] = [];
  const read = (body: string): void => {
    keys.push((JSON.parse(body) as { idempotencyKey: string }).idempotencyKey);
  };
  const silent = await fakeNode((_, __, body) => read(body));
  const good = await fakeNode((_, response, body) => {
    read(body);
    json(response, 200, { id: 'j1', state: 'queued' });
  });
  const client = clientOf([{ url: 'http://127.0.0.1:1' }, silent, good]);
  await client.submit({ tasks: [] });
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
});

test('a refusal is final, and a cluster without an answer is an error in the end', async () => {
  const strict = await fakeNode((_, response) => json(response, 404, { code: 'not_found' }));
  const refused = await clientOf([strict])
    .job('j9')
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RefusedCall);
  expect(refused).toMatchObject({ status: 404, problem: { code: 'not_found' } });
  expect(strict.asked).toHaveLength(1);
  const silent = await fakeNode(QUIET);
  await expect(clientOf([silent], 300).leader()).rejects.toThrow('no answer in 300 ms');
});

/** A node that ends its stream after each event, or is silent after it. */
function logOf(events: readonly string[], after: 'ends' | 'silent', state: () => string): Handle {
  return (request, response) => {
    const url = new URL(request.url ?? '', 'http://node');
    if (url.pathname !== '/api/v1/events') {
      json(response, 200, { id: 'j1', state: state(), tasks: [] });
      return;
    }
    const seq = Number(url.searchParams.get('after')) + 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('retry: 1000\n\n: still here\n\n');
    const event = events[seq - 1];
    if (event !== undefined) response.write(`id: ${seq}\nevent: ${event}\ndata: {}\n\n`);
    if (after === 'ends') response.end();
  };
}

for (const after of ['ends', 'silent'] as const) {
  test(`a job is waited for over a stream that ${after === 'ends' ? 'ends' : 'falls silent'}`, async () => {
    let asked = 0;
    const states = ['running', 'running', 'succeeded'];
    const node = await fakeNode(
      logOf(
        ['job.created', 'queued', 'job.succeeded'],
        after,
        () => states[asked++] ?? 'succeeded',
      ),
    );
    const job = await clientOf([node]).waitForJob('j1');
    expect(job.state).toBe('succeeded');
    const streams = node.asked.filter((each) => each.includes('/events'));
    expect(streams.map((each) => each.slice(each.indexOf('?')))).toEqual([
      '?after=0&job=j1',
      '?after=1&job=j1',
      '?after=2&job=j1',
    ]);
  });
}

test('a job that does not end in time is shown as it is', async () => {
  const node = await fakeNode(logOf([], 'silent', () => 'running'));
  const waiting = clientOf([node]).waitForJob('j1', 300);
  await expect(waiting).rejects.toThrow(/did not end within 300 ms: .*"running"/);
});

test('an event is waited for', async () => {
  const node = await fakeNode(logOf(['created', 'queued', 'assigned'], 'ends', () => 'running'));
  const event = await clientOf([node]).waitForEvent(({ event }) => event === 'assigned');
  expect(event).toEqual({ id: 3, event: 'assigned', data: '{}' });
});
