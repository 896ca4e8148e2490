/** How the leader sends deliveries out: as signed requests, and only its own. */
import { beforeEach, describe, expect, test } from 'vitest';
import { verifyWebhook } from '../contract/index.ts';
import type { ReadyAssignment } from '../contract/index.ts';
import type { ScheduleId } from '../core/index.ts';
import type { Store } from '../store/index.ts';
import { ScriptedWorker, jobId, lead, memoryStore } from '../../../test/rig/lead.ts';
import type { Led } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';

const SECRET = 'a secret of the cluster';
const URL = 'https://example.org/hook';

let clock: VirtualClock;
let store: Store;
let led: Led;
let worker: ScriptedWorker;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock, { webhookSecrets: [SECRET] });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'w', ['echo', 'http']);
});

const TASKS = [{ id: 'a', executor: 'echo' }];

async function submit(name: string, fields: object = {}): Promise<unknown> {
  const document = { name, webhooks: [{ url: URL }], tasks: TASKS, ...fields };
  return led.leader.jobs.submit(document, { jobId: jobId(name) });
}

async function next(): Promise<ReadyAssignment> {
  worker.held.length = 0;
  const [assignment] = await worker.pollNow(1);
  return assignment ?? expect.fail('there is no work');
}

interface Request {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function delivered(): Promise<{ readonly request: Request; readonly at: ReadyAssignment }> {
  const at = await next();
  return { at, request: JSON.parse(at.input) as Request };
}

const fail = async ({ lease }: ReadyAssignment): Promise<void> => {
  const error = { code: 'http_500', message: 'No.' };
  const item = { kind: 'failed', lease, error, failure: 'retryable' } as const;
  await worker.leader.workers.report(worker.session, [item]);
};

test('the request has the result and a signature, and what is stored has no signature', async () => {
  await submit('one');
  await worker.complete((await next()).lease, { rows: ['$from', 'ü'] });
  const { request, at } = await delivered();
  expect(request).toMatchObject({
    ...{ url: URL, method: 'POST', redirects: 0, retryOn: 'any' },
    headers: { 'content-type': 'application/json', 'webhook-id': at.jobId },
  });
  const event = verifyWebhook(SECRET, request, { nowMs: at.assignedAt });
  expect(event).toMatchObject({
    type: 'job.succeeded',
    data: { job: { id: 'one', state: 'succeeded' }, result: { rows: ['$from', 'ü'] } },
  });
  const view = await store.job(0, at.jobId);
  const stored = JSON.stringify([view, await store.events(0, 0, 99)]);
  expect(stored).not.toContain(request.headers['webhook-signature']!.slice(3, 20));
  expect(stored).not.toContain(SECRET);
});

test('a later attempt has the same id and body, and a signature of its own time', async () => {
  await submit('one');
  await worker.complete((await next()).lease, 7);
  const first = await delivered();
  await fail(first.at);
  await clock.advance(10_000);
  const second = await delivered();
  expect(second.request.body).toBe(first.request.body);
  expect(second.request.headers['webhook-id']).toBe(first.request.headers['webhook-id']);
  expect(second.request.headers['webhook-timestamp']).not.toBe(
    first.request.headers['webhook-timestamp'],
  );
  const late = { nowMs: second.at.assignedAt };
  expect(verifyWebhook(SECRET, second.request, late)).toMatchObject({ data: { result: 7 } });
});

test('a result that is too large or of another run is left out, and that is said', async () => {
  await submit('large');
  await worker.complete((await next()).lease, 'x'.repeat(300_000));
  const { request, at } = await delivered();
  expect(request.body.length).toBeLessThan(2_000);
  expect(verifyWebhook(SECRET, request, { nowMs: at.assignedAt }).data).toMatchObject({
    result: null,
    isResultOmitted: true,
  });
});

test('a leader that takes over delivers what the last one has left, once', async () => {
  await submit('one', { keep: 'none' });
  await worker.complete((await next()).lease, 7);
  await store.resign(led.leader.term);
  led = await lead(store, clock, { webhookSecrets: [SECRET] });
  await led.leader.loaded;
  worker = await ScriptedWorker.join(led.leader, 'x', ['echo', 'http']);
  const { request, at } = await delivered();
  expect(verifyWebhook(SECRET, request, { nowMs: at.assignedAt }).data).toMatchObject({
    result: 7,
  });
  await worker.complete(at.lease, { status: 200 });
  worker.held.length = 0;
  expect(await worker.pollNow(9)).toEqual([]);
});

describe('nobody else gets a signature', () => {
  const input = { url: URL, type: 'job.succeeded', timestamp: '', job: { id: 'forged' } };
  const forged = { webhooks: [], tasks: [{ id: 'deliver', executor: 'http', input }] };

  test('for a task that looks like a delivery', async () => {
    await submit('webhook', forged);
    expect(JSON.parse((await next()).input)).toEqual(input);
    await expect(submit('webhook@1.2', forged)).rejects.toMatchObject({ code: 'bad_input' });
  });

  test('for the jobs of a schedule with the same name', async () => {
    const document = { tasks: forged.tasks };
    await led.leader.schedules.put('webhook' as ScheduleId, { timing: { at: 5 }, document });
    await clock.advance(1_000);
    const assignment = await next();
    expect(assignment.jobId).toMatch(/^webhook@\d+\.\d+$/);
    expect(JSON.parse(assignment.input)).toEqual(input);
  });

  test('for a fork of a delivery with another input', async () => {
    await submit('one');
    await worker.complete((await next()).lease, 7);
    const { at } = await delivered();
    await led.leader.jobs.cancel(at.jobId, 'enough');
    await fail(at);
    await led.leader.jobs.fork(at.jobId, at.taskId, jobId('forged'), { input });
    expect(JSON.parse((await next()).input)).toEqual(input);
  });
});

test('without a secret webhooks are refused, and deliveries that are there fail with the reason', async () => {
  await submit('one');
  await worker.complete((await next()).lease, 7);
  await store.resign(led.leader.term);
  led = await lead(store, clock);
  await led.leader.loaded;
  await expect(submit('two')).rejects.toMatchObject({ code: 'bad_input', path: '/webhooks' });
  worker = await ScriptedWorker.join(led.leader, 'x', ['http']);
  expect(await worker.pollNow(9)).toEqual([]);
  const [failed] = await store.jobs(0, { name: 'webhook', limit: 9 });
  expect(failed).toMatchObject({ state: 'failed' });
  expect(failed?.error?.message).toContain('MILLRACE_WEBHOOK_SECRETS');
});
