import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { verifyWebhook } from '../../src/scheduler/contract/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { startTestCluster, takenFrom } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';
import { serveWeb } from '../rig/web-server.ts';

const SECRET = 'a-secret-of-the-whole-cluster';

interface Page {
  readonly jobs: readonly { readonly id: string; readonly state: string }[];
}

test('each end is delivered once, with leaders killed before the delivery and during it', async () => {
  const fixture = await startTestCluster({
    leaders: 3,
    workers: 0,
    settings: { webhookSecrets: SECRET },
  });
  const { cluster, client } = fixture;
  const held = deferred<ServerResponse>();
  const receiver = await serveWeb((_request, response) => {
    // The first request is held until the leader is dead, and comes to nothing.
    if (receiver.seen.length === 1) held.resolve(response);
    else response.writeHead(200).end();
  });
  const webhooks = [{ url: `${receiver.url}/hook`, on: ['cancelled'] }];
  const { id } = await client.submit({ webhooks, tasks: [{ id: 'a', executor: 'nobody' }] });
  expect(await client.cancel(id)).toMatchObject({ state: 'cancelled' });
  const deliveries = async (): Promise<Page['jobs']> =>
    ((await client.call({ method: 'GET', path: '/api/v1/jobs?name=webhook' })) as Page).jobs;
  const [delivery] = await deliveries();
  expect(delivery).toMatchObject({ state: 'queued' });

  // Between the end and the delivery: nobody could deliver it yet.
  await cluster.node('n-1').process.crash();
  const second = await takenFrom(fixture, cluster.node('n-1'));
  await cluster.startWorker({ args: ['--allow-private-http'] });
  const response = await held.promise;
  await cluster.node(second.nodeId).process.crash();
  await takenFrom(fixture, cluster.node(second.nodeId));
  response.writeHead(503).end();
  await until(
    async () => (await deliveries()).every(({ state }) => state === 'succeeded'),
    'the delivery to succeed',
  );
  expect((await deliveries()).map((job) => job.id)).toEqual([delivery?.id]);
  expect(receiver.seen).toHaveLength(2);
  for (const { headers, body } of receiver.seen) {
    expect(headers['webhook-id']).toBe(delivery?.id);
    expect(verifyWebhook(SECRET, { headers, body })).toMatchObject({
      type: 'job.cancelled',
      data: { job: { id, state: 'cancelled' } },
    });
  }
}, 180_000);
