import { uuidv7 } from 'uuidv7';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startApi, type Api } from '../../src/edge/http/index.ts';
import { HttpClient } from '../../src/client/index.ts';
import { run } from '../../src/cli/index.ts';
import { cronCalendar, type Leader } from '../../src/scheduler/coordinator/index.ts';
import { type JobId, MillraceError, type ScheduleId } from '../../src/scheduler/core/index.ts';
import { type Deferred, deferred, systemClock } from '../../src/kit/index.ts';
import type { EventPage, EventsQuery } from '../../src/scheduler/contract/index.ts';
import { openAccess } from '../../src/edge/security/index.ts';
import type { Store } from '../../src/scheduler/store/index.ts';
import { lead, memoryStore, ScriptedWorker } from '../rig/lead.ts';
import { VirtualClock } from '../rig/virtual-clock.ts';
import { EventFeed, StoreReader } from '../../src/edge/read/index.ts';

/** The client and the API as they are, over a real connection, each at one end. */

const document = { name: 'pair', tasks: [{ id: 'a', executor: 'echo', input: 1 }] };

let store: Store;
let leader: Leader;
let leading: Api;
let following: Api;
let client: HttpClient;
let followed: Deferred<void>;

/** Tells when somebody follows the log. */
class Announced extends StoreReader {
  override follow(query: EventsQuery, signal: AbortSignal): AsyncIterable<EventPage> {
    followed.resolve();
    return super.follow(query, signal);
  }
}

async function serve(leads: boolean): Promise<Api> {
  const feed = new EventFeed({ store, clock: systemClock, pollMs: 5 });
  const notHere = new MillraceError({
    code: 'not_leader',
    what: 'This node does not lead.',
    ...(leads ? {} : { leader: { nodeId: 'n-1', url: leading.url, grpc: null, epoch: 1 } }),
  });
  return startApi({
    host: '127.0.0.1',
    port: 0,
    access: openAccess,
    reader: new Announced({ store, feed }),
    leader: () => {
      if (leads) return leader;
      throw notHere;
    },
    standing: () => ({ nodeId: 'n', leads, epoch: 1, isReady: true, figures: null }),
    newJobId: () => uuidv7() as JobId,
    version: '0.1.0',
    calendar: cronCalendar,
  });
}

beforeEach(async () => {
  const clock = new VirtualClock();
  followed = deferred();
  store = memoryStore(clock);
  ({ leader } = await lead(store, clock));
  leading = await serve(true);
  following = await serve(false);
  client = new HttpClient({ server: following.url });
});
afterEach(async () => {
  client.end();
  await following.stop();
  await leading.stop();
  await store.close();
});

test('a job is submitted through a follower, watched until it ends and read', async () => {
  const worker = await ScriptedWorker.join(leader, 'w-1', ['echo']);
  const { id, state } = await client.submitDocument(document);
  expect(state).toBe('queued');
  const again = await client.submitDocument(document, { jobId: id });
  expect(again).toEqual({ id, state, isNew: false });
  const kinds: string[] = [];
  const watching = client.watch(id);
  let next = watching.next();
  await followed.promise;
  const [assignment] = await worker.poll(1);
  if (assignment === undefined) return expect.fail('no work came');
  await worker.complete(assignment.lease, { sum: 3 });
  for (;;) {
    const step = await next;
    if (step.done === true) {
      expect(step.value).toMatchObject({ id, state: 'succeeded', tasks: [{ result: { sum: 3 } }] });
      break;
    }
    kinds.push(step.value.kind);
    next = watching.next();
  }
  expect(kinds.at(-1)).toBe('job.succeeded');
  const { seq } = await client.head();
  const seqs: number[] = [];
  for await (const event of client.events({ after: 0, until: seq })) seqs.push(event.seq);
  expect(seqs).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
  // The log of one job may end before the whole log does; the stream says how far it has looked.
  for await (const event of client.events({ after: 0, job: id, until: seq })) {
    expect(event.job).toBe(id);
  }
});

test('a list is accepted one by one, and a refusal names its field', async () => {
  const [first, second] = await client.submitDocuments([document, { tasks: [] }]);
  expect(first).toMatchObject({ state: 'queued' });
  expect(second).toMatchObject({ code: 'bad_input', path: '/tasks' });
  await expect(client.submitDocument({ tasks: [] })).rejects.toMatchObject({ path: '/tasks' });
  for await (const page of client.jobPages({ state: 'queued' })) expect(page.jobs).toHaveLength(1);
});

test('waiting tasks are explained, jobs cancelled, run again and forked', async () => {
  const { id } = await client.submitDocument(document);
  expect(await client.explain(id, 'a')).toMatchObject({ code: 'no_node_fits' });
  expect(await client.cancel(id, 'enough')).toMatchObject({ state: 'cancelled' });
  expect(await client.ended(id)).toMatchObject({ state: 'cancelled' });
  expect(await client.rerun(id)).toMatchObject({ run: 2 });
  expect(await client.forkJob(id, 'a')).toMatchObject({ name: 'pair' });
  await expect(client.job('none')).rejects.toMatchObject({ code: 'not_found' });
  expect(await client.leader()).toMatchObject({ epoch: 1 });
});

test('nodes are drained and released, schedules put, changed and deleted', async () => {
  const { nodeId } = (await ScriptedWorker.join(leader, 'w-1', ['echo'])).session;
  expect(await client.drain(nodeId)).toMatchObject({ id: 'w-1', draining: true });
  expect(await client.release(nodeId)).toMatchObject({ id: 'w-1', draining: false });
  const id = 'nightly' as ScheduleId;
  const spec = { timing: { cron: '0 2 * * *', zone: 'UTC' }, document };
  expect(await client.putSchedule(id, spec)).toMatchObject({ id, paused: false });
  expect(await client.changeSchedule(id, 'pause')).toMatchObject({ paused: true });
  expect(await client.changeSchedule(id, 'resume')).toMatchObject({ paused: false });
  const { lastJob } = await client.changeSchedule(id, 'trigger');
  expect(lastJob).not.toBeNull();
  await client.deleteSchedule(id);
  expect((await client.listSchedules()).schedules).toEqual([]);
});

test('the command line shows what the server has', async () => {
  const { id } = await client.submitDocument(document);
  const millrace = async (...args: string[]) => {
    let out = '';
    let err = '';
    const signal = new AbortController().signal;
    const world = { out: (text: string) => (out += text), err: (text: string) => (err += text) };
    const code = await run([...args, '--server', following.url], { ...world, signal });
    return { code, out, err };
  };
  expect((await millrace('jobs')).out).toContain(id);
  expect((await millrace('job', id)).out).toContain('0 of 1 succeeded');
  expect((await millrace('explain', `${id}/a`)).out).toContain('Task a is ready');
  const events = await millrace('events', '--job', id, '--json');
  expect(events).toMatchObject({ code: 0, err: '' });
  expect(events.out).toContain('"job.created"');
  expect(await millrace('cancel', id)).toMatchObject({ code: 0, out: `Job ${id} is cancelled.\n` });
});
