import { Client, credentials, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { uuidv7 } from 'uuidv7';
import { expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../src/client/index.ts';
import type { JobId } from '../../src/scheduler/core/index.ts';
import { deferred } from '../../src/kit/index.ts';
import { ControlPlaneService } from '../../src/edge/grpc/gen/millrace/v1/control_plane.ts';
import { toWireNewJob } from '../../src/edge/grpc/codec/change.ts';
import { LeaderChannel } from '../../src/edge/grpc/index.ts';
import { grpcJobs } from '../rig/grpc-jobs.ts';
import { errorOfStatus } from '../../src/edge/grpc/status.ts';
import {
  LONG_TTLS,
  expectAllEnded,
  startTestCluster,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';

const DOCUMENT = { tasks: [{ id: 'a', executor: 'note' }] };

interface Pair {
  readonly fixture: TestCluster;
  readonly follower: ClusterNode;
  /** As a node that does not lead has to name it. */
  readonly leader: object;
}

async function pair(): Promise<Pair> {
  const fixture = await startTestCluster({ leaders: 2, workers: 1, settings: LONG_TTLS });
  const { url, grpc } = fixture.cluster.node('n-1').plan;
  const leader = { nodeId: 'n-1', url, grpc, epoch: 1 };
  return { fixture, follower: fixture.cluster.node('n-2'), leader };
}

test('the client follows a new leader, and a repeated submission stays one job', async () => {
  const { fixture, follower } = await pair();
  const { cluster, client } = fixture;
  const http = new HttpClient({ server: cluster.urls.join(','), responseTimeoutMs: 2_000 });
  onTestFinished(() => http.end());
  const before = await http.submitDocument(DOCUMENT);
  await cluster.node('n-1').process.crash();
  const after = await http.submitDocument(DOCUMENT);
  for (const { id } of [before, after]) {
    client.acknowledged.add(id);
    expect(await client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  }
  expect(await client.leader()).toMatchObject({ nodeId: follower.id, epoch: 2 });
  await tablesFollow(fixture.sql);
  expect(await fixture.sql`select count(*)::int from millrace.job`).toEqual([{ count: 2 }]);
  await expectAllEnded(fixture);
});

test('a write to a follower is refused over HTTP, with who leads and when to ask again', async () => {
  const { fixture, follower, leader } = await pair();
  const refused = await fetch(`${follower.plan.url}/api/v1/jobs`, {
    method: 'POST',
    body: JSON.stringify(DOCUMENT),
    headers: { 'content-type': 'application/json' },
  });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ code: 'not_leader', status: 503, leader });
  // Reads are answered, and say who leads.
  const asked = await fetch(`${follower.plan.url}/api/v1/leader`);
  expect(await asked.json()).toMatchObject(leader);
  expect((await fetch(`${follower.plan.url}/readyz`)).status).toBe(200);
  expect((await fetch(`${follower.plan.url}/readyz?leader=1`)).status).toBe(503);
  await tablesFollow(fixture.sql);
  expect([...(await fixture.sql`select 1 from millrace.job`)]).toEqual([]);
  await expectAllEnded(fixture);
});

test('a write to a follower is UNAVAILABLE over gRPC, with the whole error beside it', async () => {
  const { fixture, follower, leader } = await pair();
  const client = new Client(follower.plan.grpc, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestSerialize, responseDeserialize } = ControlPlaneService.submitJob;
  const job = { document: DOCUMENT, jobId: uuidv7() as JobId };
  const failed = deferred<ServiceError | null>();
  const request = { jobs: [toWireNewJob(job)] };
  client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error) =>
    failed.resolve(error),
  );
  const failure = await failed.promise;
  if (failure === null) return expect.fail('a follower took a job');
  expect(failure.code).toBe(status.UNAVAILABLE);
  expect(failure.details).toMatch(/n-2 is not the leader.*The leader is n-1/);
  expect(errorOfStatus(failure, 'n-2')).toMatchObject({ code: 'not_leader', leader });
  await expectAllEnded(fixture);
});

test('our own clients, HTTP and gRPC, follow the leader that a follower names', async () => {
  const { fixture, follower } = await pair();
  const http = new HttpClient({ server: follower.plan.url ?? '' });
  onTestFinished(() => http.end());
  const channel = new LeaderChannel({
    addresses: [follower.plan.grpc],
    tls: null,
    token: () => null,
  });
  onTestFinished(() => channel.close());
  const jobId = uuidv7() as JobId;
  const [one, two] = await Promise.all([
    http.submitDocument(DOCUMENT),
    grpcJobs(channel).submitAll([{ document: DOCUMENT, jobId }]),
  ]);
  expect(two).toEqual([expect.objectContaining({ jobId, changed: true })]);
  for (const id of [one.id, jobId]) {
    fixture.client.acknowledged.add(id);
    expect(await fixture.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
  }
  await expectAllEnded(fixture);
});
