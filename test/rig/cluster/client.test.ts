import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { RefusedCall, TestClient } from './client.ts';
import type { ClientOptions } from './client.ts';

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

/** Longer than a busy machine takes to answer: a node that is well is asked once. */
const PATIENT: ClientOptions = { retryBudgetMs: 20_000, responseTimeoutMs: 5_000 };
/** For nodes that are silent. One that is well may be asked again, so no calls are counted. */
const HASTY: ClientOptions = { retryBudgetMs: 20_000, responseTimeoutMs: 500 };

const clientOf = (nodes: readonly { url: string }[], options = PATIENT): TestClient =>
  new TestClient(() => nodes.map(({ url }) => url), options);

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
    // Not before the silent one was heard, should the client have given it up while connecting.
    if (silent.asked.length === 0) json(response, 503, { code: 'busy' });
    else json(response, 200, { id: 'j1', state: 'queued' });
  });
  const client = clientOf([{ url: 'http://127.0.0.1:1' }, silent, good], HASTY);
  await client.submit({ tasks: [] });
  expect(keys.length).toBeGreaterThan(1);
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
  const brief = clientOf([silent], { retryBudgetMs: 300, responseTimeoutMs: 200 });
  await expect(brief.leader()).rejects.toThrow('no answer in 300 ms');
});

/** A node that ends its stream after each event, or is silent after it. Its job is as the last event says. */
function logOf(events: readonly string[], after: 'ends' | 'silent'): Handle {
  let sent = '';
  return (request, response) => {
    const url = new URL(request.url ?? '', 'http://node');
    if (url.pathname !== '/api/v1/events') {
      const state = sent === 'job.succeeded' ? 'succeeded' : 'running';
      json(response, 200, { id: 'j1', state, tasks: [] });
      return;
    }
    const seq = Number(url.searchParams.get('after')) + 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('retry: 1000\n\n: still here\n\n');
    const event = events[seq - 1];
    if (event !== undefined) {
      sent = event;
      response.write(`id: ${seq}\nevent: ${event}\ndata: {}\n\n`);
    }
    if (after === 'ends') response.end();
  };
}

for (const after of ['ends', 'silent'] as const) {
  test(`a job is waited for over a stream that ${after === 'ends' ? 'ends' : 'falls silent'}`, async () => {
    const node = await fakeNode(logOf(['job.created', 'queued', 'job.succeeded'], after));
    const job = await clientOf([node], after === 'ends' ? PATIENT : HASTY).waitForJob('j1');
    expect(job.state).toBe('succeeded');
    // A call that was repeated counts once.
    const asked = node.asked.filter((each, at) => each !== node.asked[at - 1]);
    expect(asked).toEqual([
      'GET /api/v1/jobs/j1',
      'GET /api/v1/events?after=0&job=j1',
      'GET /api/v1/jobs/j1',
      'GET /api/v1/events?after=1&job=j1',
      'GET /api/v1/events?after=2&job=j1',
      'GET /api/v1/jobs/j1',
    ]);
  });
}

test('a job that does not end in time is shown as it is', async () => {
  const node = await fakeNode(logOf([], 'silent'));
  const waiting = clientOf([node]).waitForJob('j1', 300);
  await expect(waiting).rejects.toThrow(/did not end within 300 ms: .*"running"/);
});

test('an event is waited for', async () => {
  const node = await fakeNode(logOf(['created', 'queued', 'assigned'], 'ends'));
  const event = await clientOf([node]).waitForEvent(({ event }) => event === 'assigned');
  expect(event).toEqual({ id: 3, place: '3', event: 'assigned', data: '{}' });
});
