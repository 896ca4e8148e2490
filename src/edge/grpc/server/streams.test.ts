import { Client, credentials } from '@grpc/grpc-js';
import type { ClientReadableStream } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { channelTo, failureOf, wireNode } from '../../../../test/rig/wire-node.ts';
import { MillraceError } from '../../../scheduler/core/index.ts';
import type { JobId, JobState } from '../../../scheduler/core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { remoteReader } from '../client/remote-reader.ts';
import { ControlPlaneService } from '../gen/millrace/v1/control_plane.ts';
import type { WatchEventsResponse } from '../gen/millrace/v1/job.ts';
import type {
  Dated,
  EventPage,
  EventsQuery,
  Reader,
} from '../../../scheduler/contract/reader-port.ts';
import type { ReadJob } from '../../../scheduler/contract/json-text.ts';
import type { EventShape } from '../../../scheduler/contract/shapes.ts';

const at = new Date('2026-01-02T03:04:05.678Z');

function event(
  seq: number,
  kind: EventShape['kind'],
  detail: string | null = null,
): EventShape<Date> {
  const nothing = { task: null, node: null, run: null, attempt: null, fence: null };
  return { seq, at, kind, job: 'j1' as JobId, ...nothing, detail };
}

function page(...events: EventShape<Date>[]): EventPage {
  return { events, asOf: { seq: events.at(-1)?.seq ?? 0, at } };
}

/** A log that goes on until its reader leaves. */
function endless(left: () => void, made: (count: number) => void): Reader['follow'] {
  const body = 'x'.repeat(64 * 1024);
  return async function* follow(_query, signal) {
    try {
      for (let seq = 1; !signal.aborted; seq += 1) {
        made(seq);
        yield page(event(seq, 'progress', body));
      }
    } finally {
      left();
    }
  };
}

async function taken(pages: AsyncIterable<EventPage>, count = Infinity): Promise<number[]> {
  const seqs: number[] = [];
  for await (const { events } of pages) {
    for (const { seq } of events) seqs.push(seq);
    if (seqs.length >= count) break;
  }
  return seqs;
}

const forEver = new AbortController().signal;

test('events arrive in order, and the source is left when the reader leaves', async () => {
  const left = deferred();
  const { address } = await wireNode({ reader: { follow: endless(left.resolve, () => {}) } });
  const pages = remoteReader(channelTo(address)).follow({ after: 0 }, forEver);
  expect(await taken(pages, 5)).toEqual([1, 2, 3, 4, 5]);
  await left.promise;
});

test('a signal ends the stream without an error', async () => {
  const left = deferred();
  const { address } = await wireNode({ reader: { follow: endless(left.resolve, () => {}) } });
  const enough = new AbortController();
  const pages = remoteReader(channelTo(address)).follow({ after: 0 }, enough.signal);
  let seen = 0;
  for await (const each of pages) {
    seen += each.events.length;
    enough.abort();
  }
  await left.promise;
  expect(seen).toBe(1);
});

function rawWatch(address: string): ClientReadableStream<WatchEventsResponse> {
  const client = new Client(address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestSerialize, responseDeserialize } = ControlPlaneService.watchEvents;
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
    afterSeq: 0n,
    history: '',
  });
}

test('a slow reader applies backpressure, and is disconnected in the end', async () => {
  const left = deferred();
  let made = 0;
  const { address } = await wireNode({
    stalledReaderMs: 200,
    reader: { follow: endless(left.resolve, (count) => (made = count)) },
  });
  const call = rawWatch(address);
  const failed = deferred<{ code: number }>();
  call.on('error', failed.resolve);
  call.once('data', () => call.pause());
  // From then on it takes no more than its buffers hold.
  await left.promise;
  expect(made).toBeLessThan(1_000);
  call.resume();
  expect(await failed.promise).toMatchObject({ code: 8 });
});

test('a source that fails tells the reader why', async () => {
  const expired = new MillraceError({ code: 'expired', what: 'Event 1 is gone.' });
  // eslint-disable-next-line require-yield
  const follow = async function* follow(): AsyncIterable<EventPage> {
    await Promise.reject(expired);
  };
  const { address } = await wireNode({ reader: { follow } });
  const pages = remoteReader(channelTo(address)).follow({ after: 1 }, forEver);
  await expect(taken(pages)).rejects.toMatchObject({ code: 'expired', what: expired.what });
});

test('a server that stops ends its streams with a reason', async () => {
  const idle: Reader['follow'] = async function* follow(_query, signal) {
    yield page();
    const over = deferred();
    signal.addEventListener('abort', () => over.resolve());
    await over.promise;
  };
  const server = await wireNode({ reader: { follow: idle } });
  const pages = remoteReader(channelTo(server.address)).follow({ after: 0 }, forEver);
  const first = deferred();
  const reading = (async () => {
    for await (const each of pages) if (each.events.length === 0) first.resolve();
  })();
  const failed = failureOf(reading);
  await first.promise;
  await server.stop();
  expect(await failed).toMatchObject({ code: 'shutting_down' });
});

/** One job, and its log as a list of pages. */
function jobReader(
  states: readonly JobState[],
  pages: readonly EventPage[],
): {
  reader: Partial<Reader>;
  asked: EventsQuery[];
} {
  const asked: EventsQuery[] = [];
  let looked = 0;
  const job = (): Promise<Dated<ReadJob | null>> => {
    const state = states[Math.min(looked, states.length - 1)];
    looked += 1;
    const value = state === undefined ? null : ({ state } as ReadJob);
    return Promise.resolve({ value, asOf: { seq: 9, at } });
  };
  const follow: Reader['follow'] = async function* follow(query) {
    asked.push(query);
    yield* pages;
    await deferred<never>().promise;
  };
  return { reader: { job, follow }, asked };
}

const watched = { after: 3, job: 'j1' as JobId };

test('a watched job is followed to its end', async () => {
  const { reader, asked } = jobReader(
    ['running', 'succeeded'],
    [page(event(4, 'started')), page(), page(event(9, 'job.succeeded'))],
  );
  const { address } = await wireNode({ reader });
  const pages = remoteReader(channelTo(address)).follow(watched, forEver);
  expect(await taken(pages)).toEqual([4, 9]);
  expect(asked).toEqual([watched]);
});

test('a job that failed and runs again is followed further', async () => {
  const { reader } = jobReader(
    ['running', 'running', 'succeeded'],
    [page(event(4, 'job.failed')), page(event(9, 'job.succeeded'))],
  );
  const { address } = await wireNode({ reader });
  const pages = remoteReader(channelTo(address)).follow(watched, forEver);
  expect(await taken(pages)).toEqual([4, 9]);
});

test('an ended job is streamed up to its end, and not at all to a caller that knows it', async () => {
  const { reader } = jobReader(
    ['failed'],
    [page(event(4, 'failed')), page(event(9, 'job.failed'))],
  );
  const { address } = await wireNode({ reader });
  const remote = remoteReader(channelTo(address));
  expect(await taken(remote.follow(watched, forEver))).toEqual([4, 9]);
  expect(await taken(remote.follow({ ...watched, after: 9 }, forEver))).toEqual([]);
});

test('a job that is not there cannot be watched', async () => {
  const { address } = await wireNode({ reader: jobReader([], []).reader });
  const pages = remoteReader(channelTo(address)).follow(watched, forEver);
  await expect(taken(pages)).rejects.toMatchObject({ code: 'not_found' });
});
