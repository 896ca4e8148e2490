import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ApiBench, echo, openApi, passing } from '../../../test/rig/api.ts';
import { schemaFaults } from '../../../test/rig/json-schema.ts';
import { type Block, SseClient } from '../../../test/rig/sse-client.ts';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { EventPage, Reader } from '../../scheduler/contract/index.ts';
import { settled } from '../../../test/rig/virtual-clock.ts';
import { SCHEMAS } from './schemas/index.ts';

let bench: ApiBench;
const clients: SseClient[] = [];

beforeEach(async () => {
  bench = await openApi();
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.hangUp();
  await bench.close();
});

async function follow(query: string, headers?: Record<string, string>): Promise<SseClient> {
  const client = await SseClient.connect(`${bench.api.url}/api/v1/events${query}`, headers);
  clients.push(client);
  return client;
}

/** Three events each: the job, its task, and that the task is queued. */
async function submit(count: number): Promise<void> {
  const document = { tasks: [echo('a')] };
  await bench.call(
    'POST',
    '/api/v1/jobs',
    Array.from({ length: count }, () => document),
  );
  bench.feed.wake();
}

const ids = (blocks: readonly Block[]): number[] => blocks.map(({ id }) => id ?? 0);
const upTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('a stream', () => {
  test('has number, kind and content of each event, and a retry interval', async () => {
    await submit(1);
    const client = await follow('?after=0');
    expect(client.status).toBe(200);
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(await client.next()).toEqual({ retry: 2_000 });
    const events = await client.events(4);
    expect(events.map(({ id, event }) => [id, event])).toEqual([
      [1, 'leader.elected'],
      [2, 'job.created'],
      [3, 'created'],
      [4, 'queued'],
    ]);
    expect(events[3]?.data).toMatchObject({ seq: 4, kind: 'queued', job: 'made-1', task: 'a' });
    for (const { data } of events) expect(schemaFaults(SCHEMAS.Event, data, SCHEMAS)).toEqual([]);
  });

  test('continues with new events', async () => {
    const client = await follow('?after=1');
    await submit(1);
    expect(ids(await client.events(3))).toEqual([2, 3, 4]);
  });

  test('without a position starts now', async () => {
    await submit(3);
    const client = await follow('');
    await client.next();
    await submit(1);
    expect(ids(await client.events(3))).toEqual([11, 12, 13]);
  });

  test('of one job has only its events', async () => {
    await submit(3);
    const client = await follow('?after=0&job=made-2');
    const events = await client.events(3);
    expect(events.map(({ data }) => data?.job)).toEqual(['made-2', 'made-2', 'made-2']);
    // How far it has looked, so that nothing is searched twice.
    expect(await client.next()).toEqual({ id: 10 });
  });

  test('is resumed without gap or repetition, wherever it was cut', async () => {
    await submit(40);
    const seen: number[] = [];
    while (seen.length < 121) {
      const client = await follow('?after=0', { 'last-event-id': String(seen.at(-1) ?? 0) });
      const rest = 121 - seen.length;
      seen.push(...ids(await client.events(Math.min(rest, 1 + (seen.length % 17)))));
      client.hangUp();
    }
    expect(seen).toEqual(upTo(1, 121));
  });

  test('sends keep-alives', async () => {
    const client = await follow('?after=1');
    await client.next();
    await client.next();
    expect(await passing(bench.clock, client.next())).toEqual({ id: 1 });
  });

  test('sends a comment when even the reader says nothing', async () => {
    await bench.close();
    const silent: AsyncIterable<EventPage> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
    };
    bench = await openApi({ reader: { follow: () => silent } as unknown as Reader });
    const client = await passing(bench.clock, follow('?after=1'));
    await client.next();
    expect(await passing(bench.clock, client.next())).toEqual({ comment: 'still here' });
    client.hangUp();
  });
});

describe('a place', () => {
  test('past retention is 410, with the position to continue from', async () => {
    await submit(1);
    await bench.leaderClock.advance(10_000);
    await bench.store.prune(bench.led.leader.term, {
      jobsMs: 1,
      eventsMs: 1,
      keysMs: 1,
      jobsMax: 10,
    });
    const { status, body } = await bench.call('GET', '/api/v1/events?after=1');
    expect([status, body.code]).toEqual([410, 'expired']);
    expect(body.todo).toMatch(/follow the events from \d+/);
  });

  test('beyond the end of the log is 410 as well', async () => {
    expect((await bench.call('GET', '/api/v1/events?after=999')).status).toBe(410);
  });

  test('of another history is 410, although an event has that number', async () => {
    await submit(2);
    const client = await follow('?after=0');
    await client.events(3);
    const { asOf } = (await bench.call('GET', '/api/v1/jobs')).body as {
      asOf: { history: string };
    };
    const from = (id: string) =>
      bench.call('GET', '/api/v1/events', undefined, { 'last-event-id': id });
    const { status, body } = await from('3@lost');
    expect([status, body.code]).toEqual([410, 'expired']);
    expect(body.detail).toMatch(/no longer belongs to the current history/);
    const again = await follow('', { 'last-event-id': `3@${asOf.history}` });
    expect(ids(await again.events(1))).toEqual([4]);
  });

  test('that is not a number is refused', async () => {
    expect((await bench.call('GET', '/api/v1/events?after=x')).body.path).toBe('?after');
    const headers = { 'last-event-id': 'x' };
    const heard = await bench.call('GET', '/api/v1/events', undefined, headers);
    expect([heard.status, heard.body.path]).toEqual([400, 'Last-Event-ID']);
    expect((await bench.call('GET', '/api/v1/events?job=a%2Fb')).body.path).toBe('?job');
  });
});

describe('the server', () => {
  test('limits the number of streams', async () => {
    await bench.close();
    bench = await openApi({ limits: { sseClientsMax: 2 } });
    const first = await follow('?after=0');
    await follow('?after=0');
    const { status, body, headers } = await bench.call('GET', '/api/v1/events?after=0');
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
    expect((await bench.call('GET', '/metrics')).text).toContain('millrace_sse_clients 2\n');
    first.hangUp();
    let { followers } = bench.feed;
    while (followers > 1) {
      await settled();
      ({ followers } = bench.feed);
    }
    const third = await follow('?after=0');
    expect(third.status).toBe(200);
  });

  test('answers HEAD without a stream', async () => {
    const { status, headers } = await bench.call('HEAD', '/api/v1/events');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(bench.feed.followers).toBe(0);
  });

  test('ends a stream with the reason when the log fails, and the client may reconnect', async () => {
    await bench.close();
    async function* broken(): AsyncGenerator<EventPage> {
      yield { events: [], asOf: { seq: 1, at: new Date(1_000_000_000_000) } };
      throw new MillraceError({ code: 'store_unavailable', what: 'away' });
    }
    bench = await openApi({ reader: { follow: broken } as unknown as Reader });
    const client = await follow('?after=1');
    expect(await client.rest()).toEqual([
      { retry: 2_000 },
      { id: 1 },
      { comment: 'store_unavailable' },
    ]);
    expect(bench.faults).toEqual([]);
  });

  test('ends its streams with a last event when it stops', async () => {
    const client = await follow('?after=1');
    await client.next();
    const stopped = bench.close();
    const rest = await client.rest();
    expect(rest.at(-1)).toEqual({ comment: 'the server is shutting down' });
    await stopped;
    expect(bench.feed.followers).toBe(0);
  });
});

/** Asks for the stream and then reads nothing at all. */
async function idler(): Promise<Socket> {
  const socket = connect(bench.api.port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET /api/v1/events?after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  return socket;
}

test('a client that does not read is disconnected, and nothing is buffered for it', async () => {
  // Pages that never end, as of a log that is very long.
  let pages = 0;
  const cut = new AbortController();
  const detail = 'x'.repeat(1_000);
  const events = Array.from({ length: 200 }, () => ({ seq: 1, kind: 'progress', detail }));
  const page = { events, asOf: { seq: 1, at: '2001-09-09T01:46:40.000Z' } } as unknown as EventPage;
  async function* endless(_query: unknown, signal: AbortSignal): AsyncGenerator<EventPage> {
    try {
      while (!signal.aborted) {
        pages += 1;
        yield page;
      }
    } finally {
      cut.abort();
    }
  }
  await bench.close();
  bench = await openApi({ reader: { follow: endless } as unknown as Reader });
  const socket = await idler();
  let atRest = 0;
  while (!cut.signal.aborted) {
    atRest = pages;
    await bench.clock.advance(1_000);
  }
  // What fits into the sockets' buffers, and one page.
  expect(pages).toBe(atRest);
  expect(pages).toBeLessThan(200);
  expect(bench.clock.monotonicMs()).toBeGreaterThanOrEqual(30_000);
  socket.destroy();
});
