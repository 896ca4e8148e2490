import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HastyClock } from '../../test/rig/hasty-clock.ts';
import {
  endingStream,
  eventStream,
  problem,
  ScriptedServer,
  sse,
} from '../../test/rig/scripted-server.ts';
import type { JobId } from '../scheduler/core/index.ts';
import type { EventShape } from '../scheduler/contract/index.ts';
import { HttpClient } from './http-client.ts';

const EVENTS = 'GET /api/v1/events';
const JOB = 'GET /api/v1/jobs/j-1';
const id = 'j-1' as JobId;

let clock: HastyClock;
let one: ScriptedServer;
let two: ScriptedServer;
let client: HttpClient;

beforeEach(async () => {
  clock = new HastyClock();
  [one, two] = await Promise.all([ScriptedServer.start(), ScriptedServer.start()]);
  client = new HttpClient({ server: `${one.url},${two.url}`, clock });
});
afterEach(async () => {
  client.end();
  await Promise.all([one.close(), two.close()]);
});

async function seqs(events: AsyncIterable<EventShape>): Promise<number[]> {
  const seen: number[] = [];
  for await (const { seq } of events) seen.push(seq);
  return seen;
}

const asked = (server: ScriptedServer) => server.received.map(({ query }) => query['after']);

describe('a stream of events', () => {
  test('continues after the last event when its connection breaks, also at another server', async () => {
    one.script(EVENTS, eventStream(sse(4, 'created'), sse(5, 'queued')));
    two.script(
      EVENTS,
      endingStream(sse(5, 'queued'), sse(6, 'assigned')),
      eventStream(sse(7, 'started')),
    );
    const seen: number[] = [];
    for await (const { seq } of client.events({ after: 3, job: id, until: 7 })) {
      seen.push(seq);
      if (seq === 5) await one.close();
    }
    expect(seen).toEqual([4, 5, 6, 7]);
    expect(one.received[0]?.query).toEqual({ after: '3', job: 'j-1' });
    expect(one.received[0]?.headers.accept).toBe('text/event-stream');
    expect(asked(two)).toEqual(['5', '6']);
  });

  test('drops a truncated event and receives it whole after reconnecting', async () => {
    const [half] = sse(5, 'queued').split('"kind"');
    one.script(EVENTS, endingStream(sse(4, 'created'), half ?? ''));
    two.script(EVENTS, eventStream(sse(5, 'queued')));
    expect(await seqs(client.events({ after: 3, until: 5 }))).toEqual([4, 5]);
  });

  test('ends at the requested event, also when only an id without data names it', async () => {
    one.script(EVENTS, eventStream(sse(4, 'created'), 'id: 9\n\n'));
    expect(await seqs(client.events({ after: 3, until: 9 }))).toEqual([4]);
    expect(await seqs(client.events({ after: 9, until: 9 }))).toEqual([]);
    expect(one.received).toHaveLength(1);
  });

  test('without a start begins now, and keeps that position when it breaks before its first event', async () => {
    const page = { json: { jobs: [], cursor: null, asOf: { seq: 40, at: '' } } };
    one.script('GET /api/v1/jobs', page).script(EVENTS, endingStream());
    two.script(EVENTS, eventStream(sse(41, 'created')));
    expect(await seqs(client.events({ until: 41 }))).toEqual([41]);
    expect(asked(one)).toEqual([undefined, '40']);
    expect(asked(two)).toEqual(['40']);
  });

  test('is reopened when it is silent for too long', async () => {
    one.script(EVENTS, eventStream(sse(1, 'created')));
    two.script(EVENTS, eventStream(sse(2, 'queued')));
    const events = client.events({ after: 0 });
    await events.next();
    const next = events.next();
    // The first look sees that something has come since it was set, the second that nothing has.
    clock.fireLong();
    expect(two.received).toEqual([]);
    clock.fireLong();
    expect((await next).value).toMatchObject({ seq: 2 });
    await events.return();
  });

  test('past retention is reported as expired', async () => {
    one.script(EVENTS, problem(410, { code: 'expired', detail: 'Events before 90 are gone.' }));
    await expect(seqs(client.events({ after: 3 }))).rejects.toMatchObject({ code: 'expired' });
  });

  test('is given up with a reason when it always breaks at once', async () => {
    one.script(EVENTS, endingStream());
    two.script(EVENTS, endingStream());
    await expect(seqs(client.events({ after: 3 }))).rejects.toMatchObject({
      code: 'unreachable',
      what: 'The event stream ends as soon as it starts.',
    });
  });

  test('is refused when the response is not an event stream', async () => {
    one.script(EVENTS, { json: { events: [] } });
    await expect(seqs(client.events({ after: 0 }))).rejects.toMatchObject({ code: 'incompatible' });
    one.script(EVENTS, eventStream('id: 1\ndata: nonsense\n\n'));
    await expect(seqs(client.events({ after: 0 }))).rejects.toMatchObject({ code: 'incompatible' });
  });

  test('ends with the abort reason', async () => {
    one.script(EVENTS, eventStream(sse(1, 'created')));
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const events = client.events({ after: 0, signal: giveUp.signal });
    expect((await events.next()).value).toMatchObject({ seq: 1 });
    const next = events.next();
    giveUp.abort(reason);
    await expect(next).rejects.toBe(reason);
  });

  test('closes its connection when the reader leaves the loop', async () => {
    let closed: Promise<unknown> | undefined;
    one.script(EVENTS, (response, request) => {
      closed = new Promise((resolve) => {
        response.on('close', () => resolve(request.path));
      });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sse(1, 'created'));
    });
    for await (const event of client.events({ after: 0 })) {
      expect(event.seq).toBe(1);
      break;
    }
    expect(await closed).toBe('/api/v1/events');
  });
});

describe('watching a job', () => {
  const at = (seq: number, state: string, run = 1) => ({
    json: { id, state, run, tasks: [], asOf: { seq, at: '' } },
  });

  async function watched(after: number): Promise<{ seen: number[]; job: unknown }> {
    const seen: number[] = [];
    const watching = client.watch(id, { after, retriesForever: false });
    for (;;) {
      const next = await watching.next();
      if (next.done === true) return { seen, job: next.value };
      seen.push(next.value.seq);
    }
  }

  test('of an ended job needs no event', async () => {
    one.script(JOB, at(9, 'failed'));
    expect(await watched(9)).toMatchObject({ seen: [], job: { state: 'failed' } });
  });

  test('shows what happens from what was read until it ends', async () => {
    one.script(JOB, at(3, 'running'), at(6, 'succeeded'));
    one.script(EVENTS, eventStream(sse(4, 'completed'), sse(5, 'job.succeeded')));
    expect(await watched(3)).toMatchObject({ seen: [4, 5], job: { state: 'succeeded' } });
    expect(one.received[1]?.query).toEqual({ after: '3', job: 'j-1' });
  });

  test('follows the job from its beginning, whether or not it has ended', async () => {
    one.script(JOB, at(9, 'failed'));
    one.script(EVENTS, eventStream(sse(4, 'created'), sse(8, 'job.failed'), sse(9, 'node.joined')));
    expect(await watched(0)).toMatchObject({ seen: [4, 8, 9], job: { state: 'failed' } });
    expect(one.received[1]?.query).toEqual({ after: '0', job: 'j-1' });
  });

  test('follows the job to its last end when it was rerun in between', async () => {
    one.script(JOB, at(5, 'running', 2), at(9, 'succeeded', 2));
    const first = [sse(4, 'job.failed'), sse(5, 'job.rerun')];
    one.script(
      EVENTS,
      eventStream(...first),
      eventStream(sse(5, 'job.rerun'), sse(9, 'job.succeeded')),
    );
    expect(await watched(0)).toMatchObject({ seen: [4, 5, 9], job: { run: 2 } });
    expect(one.received.at(-1)?.query).toEqual({ after: '4', job: 'j-1' });
  });

  test('continues when the job is rerun', async () => {
    one.script(JOB, at(3, 'running'), at(6, 'running', 2), at(9, 'succeeded', 2));
    const events = [sse(5, 'job.failed'), sse(6, 'job.rerun'), sse(9, 'job.succeeded')];
    one.script(EVENTS, eventStream(...events));
    expect(await watched(3)).toMatchObject({ seen: [5, 6, 9], job: { run: 2 } });
  });

  test('does not trust a node that lags behind', async () => {
    one.script(JOB, at(3, 'running'), at(4, 'running'), at(5, 'succeeded'));
    one.script(EVENTS, eventStream(sse(5, 'job.succeeded')));
    expect(await watched(3)).toMatchObject({ job: { state: 'succeeded' } });
    one.script(JOB, at(3, 'running'));
    await expect(client.ended(id)).rejects.toMatchObject({ code: 'unreachable' });
  });

  test('ends when the job is gone after a lost connection, instead of waiting forever', async () => {
    const gone = problem(404, { code: 'not_found', detail: 'There is no job j-1.' });
    one.script(JOB, at(3, 'running'), gone);
    two.script(JOB, gone);
    one.script(EVENTS, endingStream(sse(4, 'started')));
    two.script(EVENTS, endingStream());
    await expect(watched(3)).rejects.toMatchObject({
      code: 'not_found',
      what: 'Job j-1 is gone.',
    });
  });

  test('continues when a node that lags behind does not know the job yet', async () => {
    const behind = problem(404, { code: 'not_found', detail: 'There is no job j-1.' });
    one.script(JOB, at(3, 'running'));
    one.script(EVENTS, endingStream(sse(4, 'started')));
    two.script(JOB, behind, at(4, 'running'), at(9, 'succeeded'));
    two.script(EVENTS, eventStream(sse(9, 'job.succeeded')));
    expect(await watched(3)).toMatchObject({ seen: [4, 9], job: { state: 'succeeded' } });
  });

  test('reads the job itself when its events are past retention', async () => {
    one.script(JOB, at(3, 'running'), at(90, 'running'), at(95, 'cancelled'));
    const gone = problem(410, { code: 'expired', detail: 'Gone.' });
    one.script(EVENTS, gone, eventStream(sse(95, 'job.cancelled')));
    expect(await client.ended(id)).toMatchObject({ state: 'cancelled' });
  });
});

describe('onEvent', () => {
  test('calls the function for one event at a time, and ends with what it throws', async () => {
    one.script(EVENTS, eventStream(sse(1, 'created'), sse(2, 'queued'), sse(3, 'assigned')));
    const seen: number[] = [];
    const subscription = client.onEvent(
      async ({ seq }) => {
        seen.push(seq);
        await Promise.resolve();
        if (seq === 2) throw new Error('enough');
      },
      { after: 0 },
    );
    await expect(subscription.ended).rejects.toThrow('enough');
    expect(seen).toEqual([1, 2]);
  });

  test('resolves when it is stopped', async () => {
    one.script(EVENTS, eventStream(sse(1, 'created')));
    const subscription = client.onEvent(() => subscription.stop(), { after: 0 });
    expect(await subscription.ended).toBeUndefined();
  });
});
