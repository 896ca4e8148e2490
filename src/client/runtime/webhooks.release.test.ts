/** Webhooks from end to end: a runtime, its worker, and a real server that receives them. */
import type { ServerResponse } from 'node:http';
import { beforeAll, afterAll, expect, test } from 'vitest';
import { serveWeb } from '../../../test/rig/web-server.ts';
import type { Seen } from '../../../test/rig/web-server.ts';
import { until } from '../../../test/rig/until.ts';
import type { TaskLog } from '../../tasks/executors/index.ts';
import {
  createRuntime,
  defineFlow,
  defineTask,
  isMillraceError,
  verifyWebhook,
} from '../millrace.ts';
import type { JobSummary, Runtime } from '../millrace.ts';

const SILENT: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };
const SECRET = 'whsec_bXkgc2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVz';

const add = defineTask({ name: 'add', run: () => ({ sum: 7 }) });
const sum = defineFlow({
  name: 'sum',
  webhooks: [{ url: 'http://flow.invalid/', on: ['failed'] }],
  build: ({ task }) => task('add', add),
});

let runtime: Runtime;

beforeAll(async () => {
  runtime = await createRuntime({
    store: 'memory',
    tasks: [add],
    log: SILENT,
    settings: { webhookSecrets: [SECRET], allowPrivateHttp: true },
  });
});
afterAll(() => runtime.close());

async function deliveriesOf(job: string): Promise<JobSummary[]> {
  const found: JobSummary[] = [];
  for await (const each of runtime.jobs({ name: 'webhook', labels: { job } })) found.push(each);
  return found;
}

const isVerified = ({ headers, body }: Seen): boolean => {
  try {
    verifyWebhook(SECRET, { headers, body });
    return true;
  } catch (error) {
    if (isMillraceError(error, 'unauthenticated')) return false;
    throw error;
  }
};

test('a receiver that fails at first gets the same event again until it takes it', async () => {
  const answers = [404, 204];
  const receiver = await serveWeb((_request, response: ServerResponse) => {
    response.writeHead(answers.shift() ?? 500).end();
  });
  const webhooks = [{ url: `${receiver.url}/hook?key=1` }];
  const job = await runtime.submit(sum, undefined, { webhooks, keep: 'none' });
  expect(await job.result()).toEqual({ sum: 7 });
  const [delivery] = await deliveriesOf(job.id);
  expect(delivery).toMatchObject({ keep: 'failed', labels: { event: 'job.succeeded' } });
  await runtime.result(delivery!.id);
  expect(receiver.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /hook?key=1',
    'POST /hook?key=1',
  ]);
  expect(receiver.seen.every(isVerified)).toBe(true);
  expect(new Set(receiver.seen.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([delivery!.id]),
  );
  expect(JSON.parse(receiver.seen.at(-1)!.body)).toMatchObject({
    type: 'job.succeeded',
    data: { job: { id: job.id, name: 'sum', run: 1 }, result: { sum: 7 } },
  });
  // One end, one delivery.
  expect(await deliveriesOf(job.id)).toHaveLength(1);
}, 60_000);

test('neither the secret nor a signature is shown anywhere', async () => {
  const receiver = await serveWeb(({ headers }, response) => {
    // A receiver that repeats what it was sent.
    response.writeHead(410).end(JSON.stringify(headers));
  });
  const job = await runtime.submit(sum, undefined, { webhooks: [{ url: receiver.url }] });
  await job.result();
  const [delivery] = await deliveriesOf(job.id);
  const id = delivery!.id;
  await expect(runtime.result(id)).rejects.toMatchObject({ code: 'http_410' });
  const shown: unknown[] = [await runtime.job(id)];
  for await (const event of runtime.watch(id)) shown.push(event);
  for await (const line of runtime.logs(id)) shown.push(line);
  const headers = { authorization: `Bearer ${runtime.token}` };
  const task = await fetch(`${runtime.url}/api/v1/jobs/${id}/tasks/deliver`, { headers });
  shown.push(await task.json());
  const text = JSON.stringify(shown);
  const signature = String(receiver.seen[0]!.headers['webhook-signature']);
  expect(text).toContain('http_410');
  expect(text).not.toContain(signature.slice('v1,'.length));
  expect(text).not.toContain(SECRET.slice('whsec_'.length));
}, 60_000);

test('an address that is not public is refused for good unless the worker allows it', async () => {
  const receiver = await serveWeb((_request, response) => {
    response.writeHead(200).end();
  });
  const closed = await createRuntime({
    store: 'memory',
    log: SILENT,
    settings: { webhookSecrets: [SECRET] },
  });
  try {
    const port = new URL(receiver.url).port;
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254', '2130706433'];
    const webhooks = hosts.map((host) => ({ url: `http://${host}:${port}/` }));
    const job = await closed.submit({ tasks: [{ id: 'a', executor: 'echo' }], webhooks });
    await job.result();
    const refused = await until(async () => {
      const found: JobSummary[] = [];
      for await (const each of closed.jobs({ name: 'webhook', state: 'failed' })) found.push(each);
      return found.length === hosts.length ? found : null;
    }, 'all deliveries to be refused');
    for (const { id } of refused) {
      const { tasks } = await closed.job(id);
      expect(tasks[0]).toMatchObject({ attempt: 1, error: { code: 'refused_address' } });
    }
    expect(receiver.seen).toEqual([]);
  } finally {
    await closed.close();
  }
}, 60_000);
