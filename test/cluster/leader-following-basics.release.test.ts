import { expect, onTestFinished, test } from 'vitest';
import { HttpClient } from '../../src/client/index.ts';
import { DOCUMENT, pair } from './leader-following-setup.ts';
import { expectAllEnded } from '../rig/cluster/test-cluster.ts';

test('our client follows from leader to leader, and one job stays one job', async () => {
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
  expect(await fixture.sql`select count(*)::int from millrace.job`).toEqual([{ count: 2 }]);
  await expectAllEnded(fixture);
});
